// SandboxEffect: the one way to use a backend. The backend runs scripts; everything that a caller may rely on is done
// here and holds for every backend: ceilings, the script's address, cancellation, deadlines, typed channels, bounded
// text.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "heddle/core/clock.h"
#include "heddle/core/result.h"
#include "heddle/effect/core/effect.h"
#include "heddle/sandbox/effect/channels.h"
#include "heddle/sandbox/effect/eval_input.h"
#include "heddle/sandbox/effect/script_reader.h"
#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox {

struct SandboxEffectOptions {
  bool allow_network = false;             ///< scripts may reach a network (the backend says how much of it)
  bool allow_reused_environment = false;  ///< a script may see what an earlier run, of whoever's, left behind

  /// Vouches that every call of the backend and of its handles returns at once, destructors and callbacks on a stop
  /// included, as the ready-made backends' do: they are then made on the caller's thread. Without it they are made on
  /// threads of a bounded set, and one that does not come back keeps no caller (SBX-24).
  bool trust_backend_to_return = false;
  std::size_t backend_threads = 64;  ///< without that trust: runs at once; further ones wait for a thread
  std::chrono::milliseconds backend_call_wait{10'000};  ///< without it: capabilities() and close() have failed then

  /// What a backend may take beyond the script's own clock (cold start, queueing, a hard kill). Finite, zero or more.
  std::chrono::milliseconds backend_grace{60'000};

  // What holds where an input says nothing, and the most that it may ask for.
  std::chrono::milliseconds wall_clock{2'000};
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;
  std::uint64_t input_bytes = std::uint64_t{1} << 20;
  std::uint64_t output_bytes = std::uint64_t{1} << 20;

  std::size_t script_bytes = std::size_t{1} << 20;  ///< longer scripts are not fetched
};

struct Evaluated {
  std::string value_json;  ///< compact JSON, the same on a replay
  /// Of the declared shape; in the facts, so that a replay under another one is noticed.
  std::optional<effect::ContentAddress> shape_hash;
};

/// A call that SandboxEffect::start() has begun, for a program with a poll loop of its own. Destroying it before its
/// reply gives up: the backend's stop token fires, and nothing of the call is left. Independent of the effect. One
/// thread.
class SandboxRun {
 public:
  using Reply = effect::Reply<Evaluated, SandboxFailure>;

  SandboxRun(const SandboxRun&) = delete;
  SandboxRun& operator=(const SandboxRun&) = delete;
  ~SandboxRun();

  /// Readable (POLLIN) when take() has something to do; the backend's. -1 when there is nothing to wait for.
  [[nodiscard]] int ready_fd() const noexcept;
  /// When take() must be called though nothing became readable: the earlier of the caller's deadline and wall clock +
  /// grace.
  [[nodiscard]] core::Deadline deadline() const noexcept;
  /// Does what is due without blocking; the reply once there is one, exactly once. Call it right after start().
  [[nodiscard]] std::optional<Reply> take();
  /// What the run said beside its reply, whatever that is; bounded and storable. Known once take() gave the reply.
  [[nodiscard]] const spi::Remarks& remarks() const noexcept { return remarks_; }

 private:
  friend class SandboxEffect;
  struct State;
  explicit SandboxRun(Reply reply);
  explicit SandboxRun(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;  // until the backend has settled
  std::optional<Reply> reply_;
  spi::Remarks remarks_;
};

/// Thread-safe.
class SandboxEffect final : public effect::Effect {
 public:
  using Reply = SandboxRun::Reply;

  /// Reads the backend's capabilities, once, and keeps the copy. Errc::invalid_argument for a backend that needs an
  /// option which was not given, that declares nonsense or throws, and for options that cannot be.
  [[nodiscard]] static core::Result<std::unique_ptr<SandboxEffect>> create(std::shared_ptr<ScriptReader> scripts,
                                                                           std::shared_ptr<spi::SandboxBackend> backend,
                                                                           SandboxEffectOptions options = {});
  ~SandboxEffect() override;

  /// Blocks until the run ended, the stop was requested or the deadline passed: the earlier of `deadline` and wall
  /// clock
  /// + grace. In this order: the input is checked, the script fetched and verified, the backend run, its outcome mapped
  /// by outcome_table(), the output bounded, its shape checked. Whatever comes, a requested stop gives
  /// Cancelled{"sandbox: cancelled"}.
  /// A `witness` is told what confined the run, what the kernel refused it and what it wrote to its console, where the
  /// backend knows; `remarks`, which may be null, are filled in as SandboxRun::remarks() is.
  [[nodiscard]] Reply evaluate(const SandboxEvalInput& input, const std::stop_token& stop = {},
                               core::Deadline deadline = core::Deadline::never(), effect::Witness* witness = nullptr,
                               spi::Remarks* remarks = nullptr) const;

  /// The same without blocking: input and script are checked at once, the rest as SandboxRun::take() is called. Never
  /// null.
  [[nodiscard]] std::unique_ptr<SandboxRun> start(const SandboxEvalInput& input,
                                                  core::Deadline deadline = core::Deadline::never()) const;

  /// Tells the backend that runs are about to come. Advice: what fails here fails again in the run that needs it.
  void warm() const noexcept;
  /// Closes the backend, for a host whose it is: nothing else here does. An error when it throws or does not return.
  [[nodiscard]] core::Result<void> close() const;

  [[nodiscard]] const spi::Capabilities& capabilities() const noexcept { return capabilities_; }

  // effect::Effect
  [[nodiscard]] std::string_view kind() const override { return "sandboxEval"; }
  [[nodiscard]] std::span<const std::string_view> channels() const override { return channel_names(); }
  /// Idempotent when no network is reached and no state kept: then a run is a function of script and input.
  [[nodiscard]] effect::Idempotency idempotency() const override;
  /// `script`, and `shapeHash` where a shape is declared.
  [[nodiscard]] effect::Annotations annotations(std::string_view input_json) const override;
  [[nodiscard]] effect::Reply<std::string> execute(std::string_view input_json,
                                                   const effect::Call& call) const override;

 private:
  SandboxEffect(std::shared_ptr<ScriptReader> scripts, std::shared_ptr<spi::SandboxBackend> backend,
                SandboxEffectOptions options, spi::Capabilities capabilities);

  [[nodiscard]] Reply run(const SandboxEvalInput& input, const std::stop_token& stop, core::Deadline deadline,
                          effect::Witness* witness, spi::Remarks* remarks) const;

  const std::shared_ptr<ScriptReader> scripts_;
  const std::shared_ptr<spi::SandboxBackend> backend_;
  const SandboxEffectOptions options_;
  const spi::Capabilities capabilities_;
};

}  // namespace heddle::sandbox
