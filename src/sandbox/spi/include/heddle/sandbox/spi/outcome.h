// What became of a run, in a closed vocabulary. The backend reports; what that means for the caller, every bound on
// text and every ceiling on values is decided by the effect around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/sandbox/spi/remarks.h"

namespace heddle::sandbox::spi {

enum class LimitKind : std::uint8_t { cpu = 1, memory, wall_clock };

/// The kernel refused the process of a run a system call, as the host's side of the boundary learned it. What the
/// guest says about itself does not belong here.
struct Denial {
  std::string syscall;  ///< "openat"; "unknown" where nobody was told
  std::string object;   ///< a path or an address; empty where the kernel does not tell
  std::string rule;     ///< what refused: "seccomp: a script has no files"
};

struct Outcome {
  enum class Kind : std::uint8_t {
    none = 0,         ///< not an answer: an outcome that nobody filled in is malformed
    ok,               ///< the script completed: `value_json`
    limit,            ///< it was ended by `limit`
    threw,            ///< the script's own failure, a syntax error included: `name`, `message`
    input_too_large,  ///< the input overflowed the memory limit while it was parsed; the script did not run
    infrastructure,   ///< nothing is known of the script (`message`); the same request may be tried again
  };

  Kind kind = Kind::none;
  std::optional<std::string> value_json;  ///< one JSON value, UTF-8; nothing: the completion value has no JSON form
  LimitKind limit = LimitKind::wall_clock;
  std::optional<std::string> name;  ///< of the thrown error ("TypeError"), where there is one
  std::string message;
  /// threw: where in the script, from 1; 0 when unknown. For people only, since a script can forge it.
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  // Where Request::explain asks for it and the boundary knows; they decide nothing.
  std::vector<std::string> applied;  ///< what confined the run, a line each
  std::vector<Denial> denials;       ///< what it was refused, in order
  bool ended_by_denial = false;      ///< infrastructure: the last of them ended the run

  Remarks remarks;  ///< of any outcome

  [[nodiscard]] static Outcome ok(std::string value_json);
  /// For a completion value that JSON does not know (undefined, a function): delivered as null.
  [[nodiscard]] static Outcome ok_without_value();
  /// Tell by what the engine knows (a flag, a refused allocation), never by an error's text: a script can write that.
  [[nodiscard]] static Outcome limited(LimitKind limit);
  [[nodiscard]] static Outcome threw(std::optional<std::string> name, std::string message);
  [[nodiscard]] static Outcome input_too_large();
  [[nodiscard]] static Outcome infrastructure(std::string message);
  /// The input could not be handed to the engine, for another reason than its size.
  [[nodiscard]] static Outcome input_marshalling_failed(const std::string& why);
};

inline Outcome Outcome::ok(std::string value_json) {
  Outcome outcome;
  outcome.kind = Kind::ok;
  outcome.value_json = std::move(value_json);
  return outcome;
}

inline Outcome Outcome::ok_without_value() {
  Outcome outcome;
  outcome.kind = Kind::ok;
  return outcome;
}

inline Outcome Outcome::limited(LimitKind limit) {
  Outcome outcome;
  outcome.kind = Kind::limit;
  outcome.limit = limit;
  return outcome;
}

inline Outcome Outcome::threw(std::optional<std::string> name, std::string message) {
  Outcome outcome;
  outcome.kind = Kind::threw;
  outcome.name = std::move(name);
  outcome.message = std::move(message);
  return outcome;
}

inline Outcome Outcome::input_too_large() {
  Outcome outcome;
  outcome.kind = Kind::input_too_large;
  return outcome;
}

inline Outcome Outcome::infrastructure(std::string message) {
  Outcome outcome;
  outcome.kind = Kind::infrastructure;
  outcome.message = std::move(message);
  return outcome;
}

inline Outcome Outcome::input_marshalling_failed(const std::string& why) {
  return infrastructure("sandbox: input marshalling failed: " + why);
}

}  // namespace heddle::sandbox::spi
