// Starts a program as an older kernel would run it: the system calls that are named answer ENOSYS, and with
// `prctl:OPTION` or `seccomp:FLAGS` those that have this first, or any of these second, arguments answer EINVAL. What
// the program starts is under the same filter.
//
//   heddle-test-without NAME... -- PROGRAM [ARG...]
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kBroken = 99;

int refuse(scmp_filter_ctx filter, const std::string& what) {
  const std::size_t colon = what.find(':');
  if (colon == std::string::npos) {
    const int number = ::seccomp_syscall_resolve_name(what.c_str());
    if (number < 0) return -EINVAL;
    return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
  }
  const auto value = static_cast<scmp_datum_t>(std::strtoull(what.c_str() + colon + 1, nullptr, 0));
  const std::string call = what.substr(0, colon);
  if (call == "prctl") {
    return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, value, 0));
  }
  if (call != "seccomp") return -EINVAL;
  return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(seccomp), 1,
                            SCMP_A1(SCMP_CMP_MASKED_EQ, value, value));
}

}  // namespace

int main(int argc, char** argv) {
  scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return kBroken;
  int at = 1;
  for (; at < argc && std::string(argv[at]) != "--"; ++at) {
    if (refuse(filter, argv[at]) == 0) continue;
    std::fprintf(stderr, "heddle-test-without: %s: no such call\n", argv[at]);
    return kBroken;
  }
  // As root no_new_privs would not be a step of the product's any more.
  if (::geteuid() == 0 && ::seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) != 0) return kBroken;
  if (at + 1 >= argc || ::seccomp_load(filter) != 0) return kBroken;
  ::seccomp_release(filter);
  ::execvp(argv[at + 1], argv + at + 1);
  std::perror(argv[at + 1]);
  return kBroken;
}
