// Reply<Value, Typed>: what running an effect gave. Exactly one of four, and reading another one aborts.
#pragma once

#include <utility>
#include <variant>

#include "heddle/core/check.h"
#include "heddle/effect/core/failure.h"

namespace heddle::effect {

template <class Value, class Typed = TypedFailure>
class [[nodiscard]] Reply {
 public:
  Reply(Value value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Reply(Typed failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT(google-explicit-constructor)
  Reply(Cancelled cancelled)
      : state_(std::in_place_index<2>, std::move(cancelled)) {}  // NOLINT(google-explicit-constructor)
  Reply(UntypedFailure failure)
      : state_(std::in_place_index<3>, std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  [[nodiscard]] bool is_typed() const noexcept { return state_.index() == 1; }
  [[nodiscard]] bool is_cancelled() const noexcept { return state_.index() == 2; }
  [[nodiscard]] bool is_untyped() const noexcept { return state_.index() == 3; }

  [[nodiscard]] const Value& value() const& { return get<0>(); }
  [[nodiscard]] Value&& value() && { return std::move(get<0>()); }
  [[nodiscard]] const Typed& typed() const& { return get<1>(); }
  [[nodiscard]] Typed&& typed() && { return std::move(get<1>()); }
  [[nodiscard]] const Cancelled& cancelled() const& { return get<2>(); }
  [[nodiscard]] Cancelled&& cancelled() && { return std::move(get<2>()); }
  [[nodiscard]] const UntypedFailure& untyped() const& { return get<3>(); }
  [[nodiscard]] UntypedFailure&& untyped() && { return std::move(get<3>()); }

 private:
  template <std::size_t Index>
  [[nodiscard]] const auto& get() const {
    HEDDLE_CHECK(state_.index() == Index);
    return *std::get_if<Index>(&state_);
  }
  template <std::size_t Index>
  [[nodiscard]] auto& get() {
    HEDDLE_CHECK(state_.index() == Index);
    return *std::get_if<Index>(&state_);
  }

  std::variant<Value, Typed, Cancelled, UntypedFailure> state_;
};

}  // namespace heddle::effect
