// The table of system calls becomes a seccomp program (seccomp(2)), made by libseccomp on the host's side.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/jail/syscalls.h"

namespace heddle::jail {

/// For whom a program is made.
enum class Hearing : std::uint8_t {
  nobody,    ///< what no row allows gets the table's Unheard, Answer::denied EPERM
  denials,   ///< both, Answer::first and Answer::birth: SECCOMP_RET_USER_NOTIF
  observes,  ///< and Answer::observe too
};

/// An array of struct sock_filter, in bytes. The same whatever the running kernel can do.
[[nodiscard]] core::Result<std::string> build_filter(const SyscallTable& table, Hearing hearing);

/// The same for a second filter on top of another: every row refuses its call with its errno, every other call goes on
/// to the first filter.
[[nodiscard]] core::Result<std::string> build_second_filter(const SyscallTable& taken);

/// The numbers of Answer::observe, ascending: what a supervisor that observes lets go on.
[[nodiscard]] std::vector<int> observed_calls(const SyscallTable& table);
/// Whether a row is Answer::first.
[[nodiscard]] bool starts_one(const SyscallTable& table);
/// Whether a row is Answer::birth.
[[nodiscard]] bool tells_births(const SyscallTable& table);

/// All as one text, in the form of heddle/jail/confine/filters.h; `notifying` and `second` may be empty.
[[nodiscard]] std::string pack_filters(std::string_view notifying, std::string_view killing, std::string_view second);

}  // namespace heddle::jail
