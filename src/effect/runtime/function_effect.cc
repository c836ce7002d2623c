#include "heddle/effect/runtime/function_effect.h"

#include <utility>

namespace heddle::effect {
namespace {

class Function final : public Effect {
 public:
  explicit Function(FunctionEffect function) : function_(std::move(function)) {
    channels_.assign(function_.channels.begin(), function_.channels.end());
  }

  [[nodiscard]] std::string_view kind() const override { return function_.kind; }
  [[nodiscard]] std::span<const std::string_view> channels() const override { return channels_; }
  [[nodiscard]] Idempotency idempotency() const override { return function_.idempotency; }
  [[nodiscard]] std::string_view input_schema() const override { return function_.input_schema; }
  [[nodiscard]] std::string_view output_schema() const override { return function_.output_schema; }
  [[nodiscard]] Reply<std::string> execute(std::string_view input_json, const Call& call) const override {
    if (!function_.run) return untyped(core::make_error(core::Errc::invalid_argument, "run an effect", function_.kind));
    return function_.run(input_json, call);
  }

 private:
  const FunctionEffect function_;
  std::vector<std::string_view> channels_;
};

}  // namespace

std::shared_ptr<const Effect> make_effect(FunctionEffect function) {
  return std::make_shared<const Function>(std::move(function));
}

}  // namespace heddle::effect
