// Denial: one system call that a guest was refused, in words that say what to change (JAIL-14).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/jail/syscalls.h"

namespace heddle::jail {

struct Denial {
  enum class Object : std::uint8_t { none, path, address };

  bool number_known = false;  ///< false: the filter ended the guest and nobody was there to be told
  int number = 0;             ///< from the kernel (struct seccomp_data), as are the arguments
  std::string syscall;        ///< "openat"; "system call 1234" for one without a name; "unknown"
  std::array<std::uint64_t, 6> arguments = {};

  /// The filter let the call through to Landlock, which decided (DenialOptions::observe); no refusal by itself.
  bool left_to_landlock = false;
  std::uint64_t count = 1;  ///< how often it was made, as far as the records of it waited together

  Object object = Object::none;
  /// A path, or an address ("192.0.2.1:443", "[2001:db8::1]:443", "unix:/run/socket", "unix:@name"): bounded and on one
  /// line. Read from the guest's memory while it was stopped in the call, and *observed* only: another thread of the
  /// guest's could have changed it. Nothing was decided by it.
  std::string observed;

  /// The object's bytes as they lay there: unbounded trust is what they do not get. At most kMaxObservedBytes.
  std::string bytes;
  /// Of a path that is not absolute: the folder that it starts from, of the calling process; empty where unknown.
  std::string folder;

  std::string rule;  ///< what refused: "seccomp: not in the script profile's list"
  std::string hint;  ///< what would have to change for the call to be allowed
};

/// What Guest::take_denials() gives. The supervisor keeps the first 128 that wait; `dropped` counts those that found no
/// room, `total` all there were. What was left to Landlock is kept apart: the first 1024 different ones that wait.
struct Denials {
  std::vector<Denial> denials;
  std::uint64_t total = 0;
  std::uint64_t dropped = 0;
  std::uint64_t observed_dropped = 0;
  std::uint64_t left = 0;  ///< calls that still wait to be taken
};

/// "openat /etc/passwd (observed): seccomp: …", without the hint; one line. Arguments are shown where there is nothing
/// better: "kill(1, 9, 0, 0, 0, 0)".
[[nodiscard]] std::string to_line(const Denial& denial);

/// The call's rule and hint under a profile's table; arguments decide nothing. For a call whose number is known.
[[nodiscard]] std::string denial_rule(const SyscallTable& table, const std::string& syscall);
[[nodiscard]] std::string denial_hint(const SyscallTable& table, const std::string& syscall);

}  // namespace heddle::jail
