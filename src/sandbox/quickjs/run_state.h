// RunState: one run, as what the host and a worker say to each other about a script.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "heddle/guest/call.h"
#include "heddle/sandbox/protocol/protocol.h"
#include "heddle/sandbox/quickjs/run.h"

namespace heddle::sandbox::quickjs {

class RunState final : private guest::Exchange {
 public:
  RunState(std::shared_ptr<guest::Pool> pool, RunRequest request, guest::CallDescriptors descriptors);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  [[nodiscard]] int fd() const noexcept { return call_.fd(); }
  [[nodiscard]] std::optional<Outcome> poll();
  [[nodiscard]] Outcome cancel() { return outcome_of(call_.abandon()); }

 private:
  [[nodiscard]] guest::Clock ask(guest::Process& worker, std::uint32_t run) override;
  [[nodiscard]] core::Result<guest::Heard> take(const wire::Frame& frame) override;
  void stop(guest::Process& worker, std::uint32_t run, std::size_t attempt) override;

  [[nodiscard]] core::Result<guest::Heard> take_console(wire::Message message);
  [[nodiscard]] core::Result<guest::Heard> take_done(const protocol::Done& done);
  [[nodiscard]] Outcome outcome_of(guest::CallEnd end);

  RunRequest request_;
  std::uint32_t run_ = 0;
  bool told_to_stop_ = false;
  std::string value_;
  spi::Remarks remarks_;
  std::uint64_t console_bytes_ = 0;
  bool line_open_ = false;  // the next piece of the console goes on with the last line
  Outcome answer_;          // what the worker made of it
  guest::Call call_;
};

}  // namespace heddle::sandbox::quickjs
