// A small interpreter of classic BPF as seccomp(2) runs it, for tests: what would the filter answer to this call?
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "heddle/core/check.h"

namespace heddle::jail {

// What a filter answers, and whom the tests ask it about.
inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
inline constexpr std::uint32_t kNotify = SECCOMP_RET_USER_NOTIF;
inline constexpr std::uint32_t kEperm = SECCOMP_RET_ERRNO | EPERM;
inline constexpr std::uint64_t kUpper = std::uint64_t{1} << 32;
inline constexpr int kHighestNumber = 1024;  // well past the newest call
inline constexpr int kX32 = 0x40000000;
inline constexpr std::uint32_t kForeign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0U, ~0U};

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
