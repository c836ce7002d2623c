#include "heddle/jail/denial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "denial_reader.h"
#include "heddle/core/text.h"
#include "heddle/jail/syscalls.h"

namespace heddle::jail {
namespace {

constexpr std::size_t kMaxObservedUnits = 512;

std::string one_line(std::string_view bytes) {
  return core::printable_line(core::bound_text(bytes, kMaxObservedUnits));
}

std::string inet_text(int family, const void* address, std::uint16_t port) {
  char text[INET6_ADDRSTRLEN] = {};
  if (::inet_ntop(family, address, text, sizeof text) == nullptr) return "an address";
  const std::string host = family == AF_INET6 ? "[" + std::string(text) + "]" : text;
  return host + ":" + std::to_string(ntohs(port));
}

std::string unix_text(std::string_view bytes) {
  std::string_view path = bytes.substr(std::min(bytes.size(), offsetof(sockaddr_un, sun_path)));
  if (path.empty()) return "unix: without a name";
  if (path[0] == '\0') return "unix:@" + one_line(path.substr(1));
  return "unix:" + one_line(path.substr(0, path.find('\0')));
}

const SyscallRule* find_rule(const SyscallTable& table, const std::string& syscall) {
  const auto* const row =
      std::find_if(table.begin(), table.end(), [&](const SyscallRule& rule) { return syscall == rule.name; });
  return row == table.end() ? nullptr : row;
}

}  // namespace

std::string address_text(std::string_view bytes) {
  sa_family_t family = AF_UNSPEC;
  if (bytes.size() < sizeof family) return "an address that is cut short";
  std::memcpy(&family, bytes.data(), sizeof family);
  if (family == AF_UNIX) return unix_text(bytes);
  if (family == AF_INET && bytes.size() >= sizeof(sockaddr_in)) {
    sockaddr_in address{};
    std::memcpy(&address, bytes.data(), sizeof address);
    return inet_text(family, &address.sin_addr, address.sin_port);
  }
  if (family == AF_INET6 && bytes.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 address{};
    std::memcpy(&address, bytes.data(), sizeof address);
    return inet_text(family, &address.sin6_addr, address.sin6_port);
  }
  return "an address of family " + std::to_string(family);
}

std::string syscall_name(int number, std::uint32_t architecture) {
  char* const name = ::seccomp_syscall_resolve_num_arch(architecture, number);
  if (name == nullptr) return "system call " + std::to_string(number);
  std::string text(name);
  std::free(name);  // NOLINT(cppcoreguidelines-no-malloc): libseccomp's contract
  return text;
}

std::string denial_rule(const SyscallTable& table, const std::string& syscall) {
  const SyscallRule* const row = find_rule(table, syscall);
  const std::string name = profile_name(table.profile);
  if (row == nullptr) return "seccomp: not in the " + name + " profile's list";
  if (row->answer == Answer::first) return std::string("seccomp: once only: ") + row->why;
  if (row->answer == Answer::allow || row->answer == Answer::observe || row->answer == Answer::birth) {
    return "seccomp: in the " + name + " profile only with other arguments (" + row->why + ")";
  }
  return std::string("seccomp: ") + row->why;
}

std::string denial_hint(const SyscallTable& table, const std::string& syscall) {
  switch (table.profile) {
    case Profile::script:
      return "no line of a policy allows it to a script: do it in the host and hand the result in as input";
    case Profile::tool:
    case Profile::plugin:
      return "no line of a policy allows it to a " + std::string(profile_name(table.profile)) +
             ": what it may reach its host gives it over the channel";
    case Profile::program:
      if (syscall == "execve" || syscall == "execveat") return "allow_exec, and the program granted execute";
      if (syscall == "flock") return "a file or a folder under paths.write: then it may lock";
      return "no line of a policy allows it to a program";
  }
  return {};
}

Denial read_denial(const SyscallTable& table, const DenialRecord& record) {
  Denial denial;
  denial.number_known = true;
  denial.number = record.number;
  denial.syscall = syscall_name(record.number, record.architecture);
  std::copy(std::begin(record.arguments), std::end(record.arguments), denial.arguments.begin());
  denial.object = static_cast<Denial::Object>(record.object);
  if (record.object == DenialRecord::Object::path) denial.observed = one_line(record.bytes);
  if (record.object == DenialRecord::Object::address) denial.observed = address_text(record.bytes);
  denial.bytes = record.bytes;
  denial.folder = record.folder;
  denial.count = record.count;
  denial.left_to_landlock = record.left_to_landlock;
  denial.rule = record.left_to_landlock ? "Landlock decides: refused where no path is granted"
                                        : denial_rule(table, denial.syscall);
  denial.hint = record.left_to_landlock ? "grant the path" : denial_hint(table, denial.syscall);
  return denial;
}

Denial unknown_denial(const SyscallTable& table) {
  Denial denial;
  denial.syscall = "unknown";
  denial.rule = std::string("seccomp: not allowed by the ") + profile_name(table.profile) +
                " profile; the filter ended the guest, number unknown";
  denial.hint = "run where seccomp notifications are available, and it will be named";
  return denial;
}

std::string to_line(const Denial& denial) {
  std::string text = denial.syscall;
  if (denial.object != Denial::Object::none) {
    text += " " + denial.observed + " (observed)";
  } else if (denial.number_known) {
    text += "(";
    for (const std::uint64_t argument : denial.arguments) {
      if (text.back() != '(') text += ", ";
      char digits[2 + 16 + 1];
      (void)std::snprintf(digits, sizeof digits, argument < 1'000'000 ? "%llu" : "0x%llx",
                          static_cast<unsigned long long>(argument));
      text += digits;
    }
    text += ")";
  }
  return text + ": " + denial.rule;
}

}  // namespace heddle::jail
