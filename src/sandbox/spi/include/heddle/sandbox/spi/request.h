// What a backend is asked to run. Settings of an engine (a pool's size, a service's address) are arguments of the
// backend's own constructor and never stand here.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

namespace heddle::sandbox::spi {

struct Limits {
  std::chrono::milliseconds wall_clock{2000};            ///< of the script alone; above zero
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;  ///< above zero
};

struct Request {
  std::string script;      ///< source text; its content address has been verified
  std::string input_json;  ///< one JSON value (RFC 8259, UTF-8), bounded; the script sees it parsed, as `input`
  Limits limits;
  bool explain = false;  ///< fill Outcome::applied and denials, where the boundary knows them
  /// Fires when the caller gave up or the deadline passed. From then on nobody takes the outcome: end the run. A
  /// callback on it may run on another thread; it must be quick and must not throw.
  std::stop_token stop;
};

}  // namespace heddle::sandbox::spi
