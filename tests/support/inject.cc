// Stands in for a program and starts the real one under a seccomp filter that makes chosen system calls answer with an
// errno (0: lie that they worked). Reads "<its own path>.rules": first line the real program, then a line a rule:
//   NUMBER ERRNO [ARGUMENT MASK VALUE]...      decimal; all conditions of a rule must hold
//   listen                                     the filter gets a listener, which stays open and hears nothing
// So the product's own binaries are tested, unchanged, with failures that the kernel itself delivers (JAIL-11).
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kBroken = 99;
using Code = std::vector<sock_filter>;

void load(Code& code, std::size_t offset) {
  code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
}

// Skips `behind` instructions when (the word at `offset` & mask) != value.
void unless(Code& code, std::size_t offset, unsigned mask, unsigned value, unsigned char behind) {
  load(code, offset);
  code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, behind));
}

bool add_rule(Code& code, const std::string& line) {
  std::istringstream words(line);
  unsigned number = 0;
  unsigned error = 0;
  if (!(words >> number >> error)) return false;
  struct Condition {
    unsigned argument, mask, value;
  };
  std::vector<Condition> conditions;
  for (Condition c{}; words >> c.argument >> c.mask >> c.value;) conditions.push_back(c);
  // Every test is three instructions and fails past the rule's return.
  auto left = static_cast<unsigned char>(3 * conditions.size() + 1);
  unless(code, offsetof(seccomp_data, nr), ~0U, number, left);
  for (const Condition& c : conditions) {
    left = static_cast<unsigned char>(left - 3);
    unless(code, offsetof(seccomp_data, args) + 8 * std::size_t{c.argument}, c.mask, c.value, left);
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  return true;
}

}  // namespace

int main(int, char** argv) {
  std::string self(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", self.data(), self.size());
  if (size < 0) return kBroken;
  self.resize(static_cast<std::size_t>(size));
  std::ifstream file(self + ".rules");
  std::string program;
  if (!std::getline(file, program)) return kBroken;
  Code code;
  unsigned flags = 0;
  for (std::string line; std::getline(file, line);) {
    if (line == "listen") {
      flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
      continue;
    }
    if (!add_rule(code, line)) return kBroken;
  }
  file.close();
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  // Root needs no no_new_privs for a filter, and so leaves that step to the product.
  if (::geteuid() != 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return kBroken;
  const long loaded = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  if (loaded < 0) return kBroken;
  // The real program inherits the listener, unknowing, and so keeps it.
  if (flags != 0 && ::fcntl(static_cast<int>(loaded), F_SETFD, 0) != 0) return kBroken;
  char* none[] = {nullptr};
  ::execve(program.c_str(), argv, none);
  return kBroken;
}
