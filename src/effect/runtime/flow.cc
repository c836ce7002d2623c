#include "heddle/effect/runtime/flow.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "flow_session.h"
#include "heddle/core/json.h"
#include "heddle/journal/core/flows.h"

namespace heddle::effect {
namespace {

class Running {
 public:
  Running(EffectRuntime::Impl& impl, const std::string& flow) : impl_(impl), flow_(flow) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    impl_.meter().forget(flow_);
    impl_.leave(flow_);
  }

 private:
  EffectRuntime::Impl& impl_;
  const std::string& flow_;
};

}  // namespace

const std::string& Flow::id() const noexcept { return session_->spec().id; }
std::string_view Flow::input_json() const noexcept { return session_->spec().input_json; }
const std::stop_token& Flow::stop() const noexcept { return session_->stop(); }

Reply<std::string> Flow::ask(std::string_view effect, std::string_view input_json, const AskOptions& options) {
  return session_->ask({prefix_, ++position_}, effect, input_json, options);
}

void Flow::together(std::span<const std::function<void(Flow&)>> branches, std::size_t threads) {
  const Place place{prefix_, ++position_};
  session_->check_branches(place, branches.size());
  const std::string prefix = place.key() + '.';
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < branches.size(); i = next++) {
      Flow branch(*session_, prefix + std::to_string(i + 1) + '.');
      session_->guarded([&] { branches[i](branch); });
    }
  };
  std::vector<std::thread> others;
  const std::size_t wanted = std::min(std::max<std::size_t>(threads, 1), branches.size());
  try {
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those that there are do all of it.
  }
  work();
  for (std::thread& other : others) other.join();
}

std::vector<Reply<std::string>> Flow::ask_together(std::span<const Ask> asks, std::size_t threads) {
  std::vector<Reply<std::string>> replies(asks.size(), Reply<std::string>(Cancelled{}));
  std::vector<std::function<void(Flow&)>> branches;
  branches.reserve(asks.size());
  for (std::size_t i = 0; i < asks.size(); ++i) {
    branches.emplace_back([&asks, &replies, i](Flow& branch) {
      replies[i] = branch.ask(asks[i].effect, asks[i].input_json, asks[i].options);
    });
  }
  together(branches, threads);
  return replies;
}

core::Result<FlowRun> run_flow(EffectRuntime& runtime, const FlowSpec& spec, const std::stop_token& stop) {
  EffectRuntime::Impl& impl = runtime.impl();
  if (spec.id.empty() || !spec.code) {
    return core::make_error(core::Errc::invalid_argument, "run a flow", "it needs an id and code");
  }
  const journal::Draft started = journal::flow_started(spec.id, spec.name, {});
  if (spec.name.empty() || core::json_word(started.payload, "name") != spec.name) {
    return core::make_error(core::Errc::invalid_argument, "run the flow " + spec.id,
                            "its code needs a name, without quotes and of at most 256 characters");
  }
  if (!impl.enter(spec.id)) {
    return core::make_error(core::Errc::invalid_argument, "run the flow " + spec.id, "it is running here already");
  }
  const Running running(impl, spec.id);

  FlowSession session(impl, spec, stop);
  HEDDLE_ASSIGN(auto ended, session.begin());
  if (ended) return FlowRun{FlowState::ended, *std::move(ended), 0, 0};
  Flow flow(session, {});
  Reply<std::string> reply = Cancelled{};
  session.guarded([&] { reply = spec.code(flow); });
  return session.finish(std::move(reply));
}

core::Result<void> resolve(journal::Store& store, std::string_view flow, std::string_view key, const Verdict& verdict) {
  const auto resolution = verdict.kind == Verdict::Kind::done     ? journal::Resolution::success
                          : verdict.kind == Verdict::Kind::failed ? journal::Resolution::failure
                                                                  : journal::Resolution::run_again;
  const auto settled = journal::resolve(store, flow, key, resolution, verdict.by, verdict.reason, verdict.output_json);
  if (!settled.ok()) return settled.error();
  return {};
}

}  // namespace heddle::effect
