// What the pool and a worker say to each other over their channel: each message once, with both of its directions.
//
//   worker → host   ready | failed                      once, before anything is read
//   host → worker   ping                                 answered by pong
//   host → worker   run, then script_bytes + input_bytes of data
//   worker → host   value_bytes of data, then done
//
// A stop travels by signal, since a busy worker does not read: kSoftStopSignal and kHardStopSignal, sent with the run's
// number as their value. The host believes none of it further than that it is well formed: reading is strict.
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/wire/message.h"

namespace heddle::sandbox::protocol {

inline constexpr int kSoftStopSignal = SIGUSR1;
inline constexpr int kHardStopSignal = SIGUSR2;

struct Ready {
  std::string version;             ///< of the worker program; another one than the host's is refused
  std::uint32_t landlock_abi = 0;  ///< of the ruleset that the worker stacked on itself
  bool mdwe = false;               ///< memory-deny-write-execute is on (kernels from 6.3)
};

struct Failed {
  std::string step;  ///< the set-up step that failed; no script was read
  std::uint32_t sys_errno = 0;
  std::string context;
};

struct RunOrder {
  std::uint32_t run = 0;  ///< from 1, one more each time
  std::uint64_t script_bytes = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t output_bytes = 0;
};

enum class Ending : std::uint8_t { ok, threw, memory, output, input_too_large, stopped, fault };

struct Done {
  std::uint32_t run = 0;
  Ending ending = Ending::fault;
  std::uint64_t value_bytes = 0;  ///< ok: of data sent before this message
  std::optional<std::string> name;
  std::string message;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

[[nodiscard]] wire::Message to_message(const Ready& ready);
[[nodiscard]] wire::Message to_message(const Failed& failed);
[[nodiscard]] wire::Message to_message(const RunOrder& order);
[[nodiscard]] wire::Message to_message(const Done& done);
[[nodiscard]] wire::Message ping(std::uint32_t number);
[[nodiscard]] wire::Message pong(std::uint32_t number);

// Each takes a message whose op() is the one that its name says; Errc::protocol for anything else.
[[nodiscard]] core::Result<Ready> read_ready(wire::Message message);
[[nodiscard]] core::Result<Failed> read_failed(wire::Message message);
[[nodiscard]] core::Result<RunOrder> read_run(wire::Message message);
[[nodiscard]] core::Result<Done> read_done(wire::Message message);
[[nodiscard]] core::Result<std::uint32_t> read_ping(wire::Message message);
[[nodiscard]] core::Result<std::uint32_t> read_pong(wire::Message message);

}  // namespace heddle::sandbox::protocol
