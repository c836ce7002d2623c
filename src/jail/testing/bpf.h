// A small interpreter of classic BPF as seccomp(2) runs it, for tests: what would the filter answer to this call?
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "heddle/core/check.h"

namespace heddle::jail {

class BpfProgram {
 public:
  explicit BpfProgram(std::string_view bytes) : code_(bytes.size() / sizeof(sock_filter)) {
    HEDDLE_CHECK(!bytes.empty() && bytes.size() % sizeof(sock_filter) == 0);
    std::memcpy(static_cast<void*>(code_.data()), bytes.data(), bytes.size());
  }

  /// The SECCOMP_RET_ value. Aborts on what seccomp's checker would refuse to load.
  [[nodiscard]] std::uint32_t answer(const seccomp_data& call) const {
    std::uint32_t accumulator = 0;
    for (std::size_t at = 0;; ++at) {
      HEDDLE_CHECK(at < code_.size());
      const sock_filter& step = code_[at];
      switch (step.code) {
        case BPF_LD | BPF_W | BPF_ABS:
          HEDDLE_CHECK(step.k % 4 == 0 && step.k + 4 <= sizeof call);
          std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + step.k, sizeof accumulator);
          break;
        case BPF_ALU | BPF_AND | BPF_K:
          accumulator &= step.k;
          break;
        case BPF_JMP | BPF_JA:
          at += step.k;
          break;
        case BPF_JMP | BPF_JEQ | BPF_K:
          at += accumulator == step.k ? step.jt : step.jf;
          break;
        case BPF_JMP | BPF_JGT | BPF_K:
          at += accumulator > step.k ? step.jt : step.jf;
          break;
        case BPF_JMP | BPF_JGE | BPF_K:
          at += accumulator >= step.k ? step.jt : step.jf;
          break;
        case BPF_RET | BPF_K:
          return step.k;
        default:
          HEDDLE_CHECK(false && "an instruction that the interpreter does not know");
      }
    }
  }

 private:
  std::vector<sock_filter> code_;
};

}  // namespace heddle::jail
