#include "effects.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "heddle/core/fd.h"
#include "heddle/effect/runtime/function_effect.h"

namespace heddle::example {
namespace {

using effect::Call;
using effect::FunctionEffect;
using effect::Idempotency;
using effect::Reply;
using effect::Retry;
using Text = Reply<std::string>;

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

std::string text_of(std::string_view json) { return nlohmann::json::parse(json).get<std::string>(); }

// The file's JSON. Reading twice does no harm.
Text read_file(std::string_view input) {
  const std::string path = text_of(input);
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return effect::untyped(core::system_error("open", path + ": Debian's package iso-codes has it"));
  auto text = core::read_all(file, kMostBytes);
  if (!text.ok()) return effect::untyped(text.error());
  return std::move(text).value();
}

// Replaces the report, whole or not at all: doing it twice is doing it once.
Text publish(const std::string& path, std::string_view report) {
  const std::string draft = path + ".draft";
  const core::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return effect::untyped(core::system_error("write", draft));
  const auto written = core::write_all(file, report);
  if (!written.ok()) return effect::untyped(written.error());
  if (std::rename(draft.c_str(), path.c_str()) != 0) return effect::untyped(core::system_error("rename", draft));
  return nlohmann::json(path).dump();
}

// Adds a line: doing it twice is a mistake.
Text append_line(const std::string& path, std::string_view input) {
  const core::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.valid()) return effect::untyped(core::system_error("open", path));
  const auto written = core::write_all(file, text_of(input) + "\n");
  if (!written.ok()) return effect::untyped(written.error());
  return std::string("true");
}

}  // namespace

Text Announcer::execute(const effect::Effect& effect, std::string_view input_json, const Call& call) {
  fmt::print("run  {} {}\n", call.idempotency_key, effect.kind());
  (void)std::fflush(stdout);
  Text reply = effect.execute(input_json, call);
  std::this_thread::sleep_for(pause_);
  return reply;
}

core::Result<void> add_effects(effect::EffectRuntime& runtime, const std::string& folder,
                               const std::shared_ptr<effect::Executor>& executor) {
  FunctionEffect read;
  read.kind = "file.read";
  read.idempotency = Idempotency::idempotent;
  read.input_schema = R"({"type":"string"})";
  read.run = [](std::string_view input, const Call& /*call*/) { return read_file(input); };
  HEDDLE_TRY(runtime.add(effect::make_effect(read), executor));

  FunctionEffect publishes;
  publishes.kind = "file.publish";
  publishes.idempotency = Idempotency::idempotent;
  publishes.run = [path = folder + "/report.json", busy = std::make_shared<std::atomic<bool>>(true)](
                      std::string_view input, const Call& /*call*/) -> Text {
    // Stands for a service that is busy for a moment, once in each process.
    if (busy->exchange(false)) return effect::untyped("the spool is busy", Retry::yes);
    return publish(path, input);
  };
  HEDDLE_TRY(runtime.add(effect::make_effect(publishes), executor));

  FunctionEffect appends;
  appends.kind = "file.append";
  appends.input_schema = R"({"type":"string"})";
  appends.run = [path = folder + "/ledger.txt"](std::string_view input, const Call& /*call*/) {
    return append_line(path, input);
  };
  HEDDLE_TRY(runtime.add(effect::make_effect(appends), executor));

  FunctionEffect mail;
  mail.kind = "mail.send";
  mail.run = [](std::string_view /*input*/, const Call& /*call*/) -> Text {
    return effect::untyped("the policy lets nobody get here");
  };
  return runtime.add(effect::make_effect(mail), executor);
}

}  // namespace heddle::example
