#include "heddle/effect/runtime/runtime.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "heddle/core/json.h"
#include "heddle/core/text.h"
#include "runtime_impl.h"

namespace heddle::effect {
namespace {

constexpr std::array<std::string_view, 7> kChannels{kEffectDenied,  kAccessDenied, kBudgetExceeded,  kInvalidInput,
                                                    kInvalidOutput, kInDoubt,      kResolvedAsFailed};
constexpr std::size_t kMaxNameBytes = 64;

core::Error refused(std::string_view kind, std::string_view why) {
  return core::make_error(core::Errc::invalid_argument, "add an effect",
                          core::bound_text(kind, kMaxNameBytes) + ": " + std::string(why));
}

// Names stand in facts between quotes, and in policies.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

core::Result<std::optional<Shape>> compile(std::string_view schema) {
  if (schema.empty()) return std::optional<Shape>();
  HEDDLE_ASSIGN(Shape shape, Shape::compile(schema));
  return std::optional<Shape>(std::move(shape));
}

}  // namespace

std::span<const std::string_view> runtime_channels() noexcept { return kChannels; }

std::string detail(std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string json = "{";
  for (const auto& [name, value] : members) {
    if (json.size() > 1) json += ',';
    core::append_json_string(json, name);
    json += ':';
    core::append_json_string(json, core::bound_text(value));
  }
  return json + '}';
}

UntypedFailure from_exception(std::string_view what, const std::exception_ptr& exception) {
  std::string message(what);
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& thrown) {
    message += std::string(" threw: ") + thrown.what();
  } catch (...) {
    message += " threw something that is no std::exception";
  }
  UntypedFailure failure = untyped(message);
  failure.cause = exception;
  return failure;
}

core::Result<void> EffectRuntime::Impl::add(std::shared_ptr<const Effect> effect, std::shared_ptr<Executor> executor) {
  if (effect == nullptr) return refused("", "there is none");
  const std::string kind(effect->kind());
  if (!is_name(kind)) return refused(kind, "a kind has letters, digits, '.', '_' and '-', and at most 64 of them");
  for (const std::string_view channel : effect->channels()) {
    if (!is_name(channel)) return refused(kind, "its channel '" + core::bound_text(channel, 64) + "' is no name");
    if (std::find(kChannels.begin(), kChannels.end(), channel) != kChannels.end()) {
      return refused(kind, "its channel '" + std::string(channel) + "' is the runtime's own");
    }
  }
  Entry entry;
  HEDDLE_ASSIGN(entry.input, compile(effect->input_schema()));
  HEDDLE_ASSIGN(entry.output, compile(effect->output_schema()));
  entry.effect = std::move(effect);
  entry.executor = std::move(executor);
  const std::unique_lock lock(mutex_);
  if (!entries_.emplace(kind, std::move(entry)).second) return refused(kind, "there is one of this kind already");
  return {};
}

const EffectRuntime::Impl::Entry* EffectRuntime::Impl::find(std::string_view kind) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(kind);
  return found == entries_.end() ? nullptr : &found->second;
}

bool EffectRuntime::Impl::enter(const std::string& flow) {
  const std::unique_lock lock(mutex_);
  return flows_.insert(flow).second;
}

void EffectRuntime::Impl::leave(const std::string& flow) {
  const std::unique_lock lock(mutex_);
  flows_.erase(flow);
}

core::Result<std::unique_ptr<EffectRuntime>> EffectRuntime::create(Rings rings, RuntimeOptions options) {
  const auto missing = [&]() -> const char* {
    if (rings.authorizer == nullptr) return "an authorizer";
    if (rings.scheduler == nullptr) return "a scheduler";
    if (rings.meter == nullptr) return "a meter";
    return rings.journal == nullptr ? "a journal" : nullptr;
  }();
  if (missing != nullptr) {
    return core::make_error(core::Errc::invalid_argument, "make an effect runtime",
                            std::string(missing) + " must be handed in");
  }
  if (options.journal_wait.count() <= 0 || options.max_denials == 0) {
    return core::make_error(core::Errc::invalid_argument, "make an effect runtime", "its options must be above zero");
  }
  return std::unique_ptr<EffectRuntime>(new EffectRuntime(std::make_unique<Impl>(std::move(rings), options)));
}

EffectRuntime::EffectRuntime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EffectRuntime::~EffectRuntime() = default;

core::Result<void> EffectRuntime::add(std::shared_ptr<const Effect> effect) {
  return impl_->add(std::move(effect), nullptr);
}

core::Result<void> EffectRuntime::add(std::shared_ptr<const Effect> effect, std::shared_ptr<Executor> executor) {
  if (executor == nullptr) return refused(effect == nullptr ? "" : effect->kind(), "it was to be bound to no executor");
  return impl_->add(std::move(effect), std::move(executor));
}

Reply<std::string> EffectRuntime::execute(const Invocation& invocation, const std::stop_token& stop,
                                          core::Deadline deadline) {
  auto reply = impl_->run(invocation, stop, deadline, nullptr);
  if (!reply.ok()) return untyped(reply.error(), Retry::no);
  return std::move(reply).value();
}

}  // namespace heddle::effect
