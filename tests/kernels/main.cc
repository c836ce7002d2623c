// heddle-kernel-claims: proves what is claimed of the kernel that it runs on.
//
//   heddle-kernel-claims [CLAIM…]     each claim, or those named. A tab-separated line each:
//                                     claim USER ID VERDICT NOTE
//   heddle-kernel-claims --list       ID REQUIREMENTS TEXT, tab-separated, without proving anything
//
// HEDDLE_KERNEL names the column of the table whose expectations hold; without it any verdict but FAIL is fine.
// Status 0: as expected; 1: not; 64: wrong use.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "heddle/core/text.h"
#include "proofs.h"

namespace {

using namespace heddle::kernels;

constexpr int kUsage = 64;

int list() {
  for (const Claim& claim : claims()) std::printf("%s\t%s\t%s\n", claim.id, claim.requirements, claim.text);
  return 0;
}

// What the table says of this kernel must be what was found: a claim that holds where it should not is a mistake too.
Finding compare(const Claim& claim, Finding found, const std::string& kernel) {
  if (found.verdict == Verdict::fail || found.verdict == Verdict::skipped || kernel.empty()) return found;
  for (std::size_t column = 0; column < kKernelCount; ++column) {
    if (kernel != kKernels[column] || claim.expected.on[column] == found.verdict) continue;
    return fail(std::string("expected ") + verdict_name(claim.expected.on[column]) + ", found " +
                verdict_name(found.verdict) + (found.note.empty() ? "" : ": " + found.note));
  }
  return found;
}

bool wanted(const Claim& claim, int argc, char** argv) {
  bool any = argc < 2;
  for (int i = 1; i < argc; ++i) any = any || std::strcmp(argv[i], claim.id) == 0;
  return any;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return list();
  if (argc > 1 && argv[1][0] == '-') return kUsage;
  const World world;
  const char* user = ::geteuid() == 0 ? "root" : "user";
  int status = 0;
  unsigned proven = 0;
  for (const Claim& claim : claims()) {
    if (!wanted(claim, argc, argv)) continue;
    ++proven;
    const Finding found = compare(claim, claim.prove(world), world.kernel());
    if (found.verdict == Verdict::fail) status = 1;
    std::printf("claim\t%s\t%s\t%s\t%s\n", user, claim.id, verdict_name(found.verdict),
                heddle::core::printable_line(found.note).c_str());
    std::fflush(stdout);  // what was found is known even when the next proof ends the machine
  }
  return proven == 0 ? kUsage : status;
}
