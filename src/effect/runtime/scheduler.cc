#include "heddle/effect/runtime/scheduler.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

#include "heddle/core/check.h"

namespace heddle::effect {

// Nodes of maps stay where they are, so slots and waiters point at them; a flow's node lives while it runs or waits.
struct Scheduler::State {
  struct Flow {
    std::string id;
    std::size_t running = 0;
    std::size_t waiting = 0;
  };
  struct Effect {
    std::size_t limit = 0;
    std::size_t running = 0;
  };
  struct Waiter {
    Flow* flow = nullptr;
    Effect* effect = nullptr;
    bool granted = false;
    std::condition_variable_any wake;
  };

  explicit State(ScheduleLimits chosen) : limits(std::move(chosen)) {}

  Flow& flow(std::string_view id) {
    auto found = flows.find(id);
    if (found == flows.end()) found = flows.emplace(id, Flow{std::string(id), 0, 0}).first;
    return found->second;
  }

  Effect& effect(std::string_view kind) {
    auto found = effects.find(kind);
    if (found == effects.end()) {
      const auto own = limits.effects.find(kind);
      found = effects.emplace(kind, Effect{own == limits.effects.end() ? limits.each : own->second, 0}).first;
    }
    return found->second;
  }

  [[nodiscard]] bool free_for(const Effect& effect) const {
    return running < limits.total && effect.running < effect.limit;
  }

  void take(Flow& flow, Effect& effect) {
    ++running;
    ++flow.running;
    ++effect.running;
  }

  void drop_if_idle(Flow& flow) {
    if (flow.running == 0 && flow.waiting == 0) flows.erase(flows.find(flow.id));
  }

  // Of those who can go now, the one whose flow runs least; the queue is in the order of coming.
  void grant() {
    while (running < limits.total) {
      Waiter* best = nullptr;
      for (Waiter* const waiter : queue) {
        if (!free_for(*waiter->effect)) continue;
        if (best == nullptr || waiter->flow->running < best->flow->running) best = waiter;
        if (best->flow->running == 0) break;
      }
      if (best == nullptr) return;
      queue.remove(best);
      --best->flow->waiting;
      take(*best->flow, *best->effect);
      best->granted = true;
      best->wake.notify_one();
    }
  }

  const ScheduleLimits limits;
  mutable std::mutex mutex;
  std::size_t running = 0;
  std::map<std::string, Flow, std::less<>> flows;
  std::map<std::string, Effect, std::less<>> effects;
  std::list<Waiter*> queue;
};

Scheduler::Slot::Slot(Slot&& other) noexcept
    : state_(std::move(other.state_)), flow_(other.flow_), effect_(other.effect_) {}

Scheduler::Slot& Scheduler::Slot::operator=(Slot&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
    flow_ = other.flow_;
    effect_ = other.effect_;
  }
  return *this;
}

void Scheduler::Slot::release() noexcept {
  if (state_ == nullptr) return;
  HEDDLE_CHECK(flow_ != nullptr && effect_ != nullptr);
  {
    const std::lock_guard lock(state_->mutex);
    auto& flow = *static_cast<State::Flow*>(flow_);
    --state_->running;
    --flow.running;
    --static_cast<State::Effect*>(effect_)->running;
    state_->grant();
    state_->drop_if_idle(flow);
  }
  state_.reset();
}

core::Result<std::shared_ptr<Scheduler>> Scheduler::create(ScheduleLimits limits) {
  const bool zero =
      limits.total == 0 || limits.each == 0 ||
      std::any_of(limits.effects.begin(), limits.effects.end(), [](const auto& e) { return e.second == 0; });
  if (zero) {
    return core::make_error(core::Errc::invalid_argument, "make a schedule",
                            "a limit of zero lets nothing run; deny the effect instead");
  }
  return std::shared_ptr<Scheduler>(new Scheduler(std::make_shared<State>(std::move(limits))));
}

core::Result<Scheduler::Slot> Scheduler::acquire(std::string_view flow_id, std::string_view kind,
                                                 const std::stop_token& stop, core::Deadline deadline) {
  std::unique_lock lock(state_->mutex);
  State::Flow& flow = state_->flow(flow_id);
  State::Effect& effect = state_->effect(kind);
  // Whoever waits goes first, unless it waits for something else that is full.
  const bool at_once =
      state_->free_for(effect) && std::none_of(state_->queue.begin(), state_->queue.end(),
                                               [&](const auto* waiter) { return state_->free_for(*waiter->effect); });
  if (at_once) {
    state_->take(flow, effect);
  } else {
    State::Waiter waiter;
    waiter.flow = &flow;
    waiter.effect = &effect;
    ++flow.waiting;
    state_->queue.push_back(&waiter);
    const auto granted = [&] { return waiter.granted; };
    if (deadline.is_never()) {
      waiter.wake.wait(lock, stop, granted);
    } else {
      waiter.wake.wait_until(lock, stop, deadline.when(), granted);
    }
    if (!waiter.granted) {
      state_->queue.remove(&waiter);
      --flow.waiting;
      state_->drop_if_idle(flow);
      return core::make_error(stop.stop_requested() ? core::Errc::cancelled : core::Errc::timed_out,
                              "wait for a place to run an effect",
                              std::string(kind) + ": as many run as the schedule allows");
    }
  }
  Slot slot;
  slot.state_ = state_;
  slot.flow_ = &flow;
  slot.effect_ = &effect;
  return slot;
}

Scheduler::Statistics Scheduler::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->running, state_->queue.size()};
}

}  // namespace heddle::effect
