// What is claimed of each kernel, and what a proof says. To add a claim: a function in one of the files proofs_*.cc,
// its declaration in proofs.h, and its row in claims.cc.
#pragma once

#include <cstddef>
#include <string>

namespace heddle::kernels {

enum class Verdict : unsigned char {
  yes,           ///< holds, shown just now, with a control where a refusal is the proof
  refused,       ///< the jail does not start a guest on this kernel and says why: the claim holds for want of a guest
  not_enforced,  ///< this layer does not do it on this kernel, and Heddle says so; the note names what does
  skipped,       ///< cannot be shown here; the note says why
  fail,          ///< does not hold
};
const char* verdict_name(Verdict verdict) noexcept;

struct Finding {
  Verdict verdict = Verdict::fail;
  std::string note;  ///< one line; a short one ("ABI 6") shows in the table, a long one below it
};

/// Columns of the expectations, oldest first. Their names are those of the file `series`.
inline constexpr const char* kKernels[] = {"5.10", "6.1", "6.12", "7"};
inline constexpr std::size_t kKernelCount = sizeof kKernels / sizeof kKernels[0];

struct Expected {
  Verdict on[kKernelCount];
};

struct Claim {
  const char* id;
  const char* requirements;
  const char* text;  ///< for people: at most 60 characters
  Expected expected;
  Finding (*prove)(const class World& world);
};

struct Claims {
  const Claim* rows;
  std::size_t count;
  [[nodiscard]] const Claim* begin() const noexcept { return rows; }
  [[nodiscard]] const Claim* end() const noexcept { return rows + count; }
};
Claims claims() noexcept;

}  // namespace heddle::kernels
