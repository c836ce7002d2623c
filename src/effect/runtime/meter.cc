#include "heddle/effect/runtime/meter.h"

#include <array>
#include <limits>

namespace heddle::effect {
namespace {

constexpr std::array<std::string_view, 4> kResources{"calls", "time", "bytes", "cost"};
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Sums that would overflow are the largest number: a budget must never begin anew.
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
std::uint64_t times(std::uint64_t a, std::uint64_t b) { return a != 0 && b > kMost / a ? kMost : a * b; }
std::uint64_t part(std::uint64_t amount, std::uint64_t unit, std::uint64_t price) {
  const std::uint64_t whole = times(amount / unit, price);
  const std::uint64_t rest = times(amount % unit, price);
  return plus(whole, rest / unit + (rest % unit == 0 ? 0 : 1));
}

std::uint64_t count_of(std::chrono::microseconds time) {
  return time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count());
}

std::uint64_t variable_cost(const Price& price, std::chrono::microseconds time, std::uint64_t bytes) {
  std::uint64_t cost = 0;
  if (price.per_second != 0) cost = part(count_of(time), 1'000'000, price.per_second);
  if (price.per_kib != 0) cost = plus(cost, part(bytes, 1024, price.per_kib));
  return cost;
}

std::optional<Exceeded> over(Resource resource, std::uint64_t used, std::uint64_t more,
                             const std::optional<std::uint64_t>& limit) {
  if (!limit || (used <= *limit && more <= *limit - used)) return std::nullopt;
  return Exceeded{resource, *limit};
}

}  // namespace

std::string_view resource_name(Resource resource) noexcept { return kResources[static_cast<std::size_t>(resource)]; }

Price Meter::price(std::string_view effect) const {
  if (prices_.empty()) return {};
  const auto found = prices_.find(effect);
  return found == prices_.end() ? Price{} : found->second;
}

Usage& Meter::of(std::string_view flow) {
  auto found = flows_.find(flow);
  if (found == flows_.end()) found = flows_.emplace(flow, Usage{}).first;
  return found->second;
}

Meter::Admission Meter::admit(std::string_view flow, std::string_view effect, std::uint64_t input_bytes) {
  const Price price = this->price(effect);
  const std::lock_guard lock(mutex_);
  Usage& used = of(flow);
  Admission admission;
  admission.refused = over(Resource::calls, used.calls, 1, budget_.calls);
  if (!admission.refused) admission.refused = over(Resource::bytes, used.bytes, input_bytes, budget_.bytes);
  if (!admission.refused) admission.refused = over(Resource::cost, used.cost, price.per_call, budget_.cost);
  if (!admission.refused && budget_.time && used.time >= *budget_.time) {
    admission.refused = Exceeded{Resource::time, count_of(*budget_.time)};
  }
  if (admission.refused) return admission;
  used.calls = plus(used.calls, 1);
  used.bytes = plus(used.bytes, input_bytes);
  used.cost = plus(used.cost, price.per_call);
  if (budget_.time) admission.time_left = *budget_.time - used.time;
  return admission;
}

std::optional<Exceeded> Meter::settle(std::string_view flow, std::string_view effect, std::chrono::microseconds time,
                                      std::uint64_t input_bytes, std::uint64_t output_bytes) {
  const Price price = this->price(effect);
  const std::lock_guard lock(mutex_);
  Usage& used = of(flow);
  const auto exceeded = over(Resource::bytes, used.bytes, output_bytes, budget_.bytes);
  if (exceeded) output_bytes = 0;  // nobody gets it
  used.time += time;
  used.bytes = plus(used.bytes, output_bytes);
  used.cost = plus(used.cost, variable_cost(price, time, plus(input_bytes, output_bytes)));
  return exceeded;
}

void Meter::count(std::string_view flow, std::string_view effect, Usage usage) {
  const Price price = this->price(effect);
  const std::lock_guard lock(mutex_);
  Usage& used = of(flow);
  used.calls = plus(used.calls, usage.calls);
  used.time += usage.time;
  used.bytes = plus(used.bytes, usage.bytes);
  used.cost = plus(used.cost, plus(times(usage.calls, price.per_call), variable_cost(price, usage.time, usage.bytes)));
}

Usage Meter::usage(std::string_view flow) const {
  const std::lock_guard lock(mutex_);
  const auto found = flows_.find(flow);
  return found == flows_.end() ? Usage{} : found->second;
}

void Meter::forget(std::string_view flow) {
  const std::lock_guard lock(mutex_);
  const auto found = flows_.find(flow);
  if (found != flows_.end()) flows_.erase(found);
}

}  // namespace heddle::effect
