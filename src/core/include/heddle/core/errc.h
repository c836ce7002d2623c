// The closed list of what can go wrong in doing the job itself. Outcomes of a guest (killed, denied, threw) are values
// of other types and never stand here.
#pragma once

#include <cstdint>

namespace heddle::core {

/// Numbers are never reused and never change: they cross process boundaries and lie in journals (docs/adr/0003).
enum class Errc : std::uint16_t {
  system = 1,             ///< a system call failed; `Error::sys_errno` says how
  invalid_argument = 2,   ///< the caller asked for something that cannot be
  protocol = 3,           ///< the peer broke the wire format; the connection is finished
  disconnected = 4,       ///< the peer is gone
  timed_out = 5,          ///< a deadline passed
  cancelled = 6,          ///< the caller's stop was requested
  unsupported = 7,        ///< this kernel or machine cannot do it
  untrusted_program = 8,  ///< a helper program is missing, writable by others or of another version
  confinement = 9,        ///< a set-up step of a jail failed; no guest code ran
  start_up = 10,          ///< a guest program was confined but did not become ready
  too_large = 11,         ///< a size is over its ceiling
  not_found = 12,         ///< a named thing is not there
  malformed = 13,         ///< input of the caller's is not what it must be (JSON, UTF-8)
  closed = 14,            ///< the object has been closed by its owner
  exhausted = 15,         ///< a resource of the host's own (descriptors, processes, memory) ran out
  damaged = 16,           ///< stored data is not what was written
};

/// A stable lower-case word for each number, for messages and logs: "protocol". Unknown numbers give "unknown".
const char* errc_name(Errc code) noexcept;

}  // namespace heddle::core
