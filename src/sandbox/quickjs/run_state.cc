#include "run_state.h"

#include "heddle/core/json.h"
#include "heddle/core/text.h"

namespace heddle::sandbox::quickjs {
namespace {

using core::Errc;
constexpr std::string_view kStep = "run a script";

core::Error broken_protocol(std::string_view what) {
  return core::make_error(Errc::protocol, "read the worker's answer", what);
}

// In words, for who does not link the jail.
Explanation explain(const guest::Account& account) {
  Explanation explanation;
  if (account.applied) explanation.applied = jail::to_lines(*account.applied);
  for (const jail::Denial& denial : account.denials.denials) {
    explanation.denied.push_back({denial.syscall, denial.observed, jail::to_line(denial), denial.rule, denial.hint});
  }
  explanation.dropped = account.denials.dropped;
  explanation.ended_by_denial = account.ended_by_denial;
  return explanation;
}

}  // namespace

RunState::RunState(std::shared_ptr<guest::Pool> pool, RunRequest request, guest::CallDescriptors descriptors)
    : request_(std::move(request)),
      call_(std::move(pool), std::move(descriptors), *this, {request_.limits.wall_clock, request_.limits.cpu},
            request_.explain ? guest::Accounting::kept : guest::Accounting::none) {
  call_.start();
}

std::optional<Outcome> RunState::poll() {
  std::optional<guest::CallEnd> end = call_.poll();
  if (!end) return std::nullopt;
  return outcome_of(*std::move(end));
}

guest::Clock RunState::ask(guest::Process& worker, std::uint32_t run) {
  wire::Channel& channel = worker.channel();
  protocol::RunOrder order;
  order.run = run_ = run;
  order.script_bytes = request_.script.size();
  order.input_bytes = request_.input_json.size();
  order.memory_bytes = request_.limits.memory_bytes;
  order.output_bytes = request_.limits.output_bytes;
  order.console_bytes = request_.limits.console_bytes;
  channel.queue(protocol::to_message(order));
  channel.queue_data(request_.script);
  channel.queue_data(request_.input_json);
  channel.grant(request_.limits.output_bytes);
  return guest::Clock::opens;
}

void RunState::stop(guest::Process& worker, std::uint32_t run, std::size_t attempt) {
  told_to_stop_ = true;
  worker.send_signal(attempt == 0 ? protocol::kSoftStopSignal : protocol::kHardStopSignal, static_cast<int>(run));
}

core::Result<guest::Heard> RunState::take(const wire::Frame& frame) {
  if (frame.type == wire::FrameType::data) {
    value_ += frame.payload;  // no more than the credit granted: output_bytes
    return guest::Heard::more;
  }
  HEDDLE_ASSIGN(wire::Message message, wire::as_message(frame));
  if (message.op() == "console") return take_console(std::move(message));
  HEDDLE_ASSIGN(const protocol::Done done, protocol::read_done(std::move(message)));
  if (done.run != run_) return broken_protocol("it answers another run");
  const bool has_value = done.ending == protocol::Ending::ok;
  if (value_.size() != (has_value ? done.value_bytes : 0)) {
    return broken_protocol("it announced another size than it sent");
  }
  return take_done(done);
}

// The worker bounds the console; one that does not is none of ours any more.
core::Result<guest::Heard> RunState::take_console(wire::Message message) {
  HEDDLE_ASSIGN(const protocol::ConsolePiece piece, protocol::read_console(std::move(message)));
  if (piece.run != run_) return broken_protocol("its console is of another run");
  console_bytes_ += piece.text.size() + (line_open_ ? 0 : protocol::kConsoleLineBytes);
  if (remarks_.console_cut || console_bytes_ > request_.limits.console_bytes + protocol::kConsoleLineBytes) {
    return broken_protocol("its console has more than it may");
  }
  const auto level = static_cast<spi::ConsoleLevel>(piece.level);
  if (!line_open_) remarks_.console.push_back({level, {}});
  remarks_.console.back().text += core::bound_text(piece.text, piece.text.size());
  line_open_ = piece.more;
  remarks_.console_cut = piece.cut;
  return guest::Heard::more;
}

core::Result<guest::Heard> RunState::take_done(const protocol::Done& done) {
  remarks_.hint = core::bound_text(done.hint);
  remarks_.note = core::bound_text(done.note);
  switch (done.ending) {
    case protocol::Ending::ok:
      if (core::check_json(value_)) return broken_protocol("its value is not JSON");
      answer_.kind = Outcome::Kind::ok;
      answer_.value = std::move(value_);
      break;
    case protocol::Ending::threw:
      answer_.kind = Outcome::Kind::threw;
      if (done.name) answer_.name = core::bound_text(*done.name);
      answer_.message = core::bound_text(done.message);
      answer_.line = done.line;
      answer_.column = done.column;
      break;
    case protocol::Ending::memory:
    case protocol::Ending::output:
      answer_.kind = Outcome::Kind::limit;
      answer_.limit = done.ending == protocol::Ending::memory ? LimitKind::memory : LimitKind::output;
      break;
    case protocol::Ending::input_too_large:
      answer_.kind = Outcome::Kind::input_too_large;
      break;
    case protocol::Ending::stopped:
      if (!told_to_stop_) return broken_protocol("it stopped without having been told to");
      break;
    case protocol::Ending::fault:
      answer_.kind = Outcome::Kind::infrastructure;
      answer_.error = core::make_error(Errc::system, kStep, "the engine faulted; the worker was replaced");
      return guest::Heard::unfit;
  }
  return guest::Heard::last;
}

Outcome RunState::outcome_of(guest::CallEnd end) {
  Outcome outcome;
  switch (end.kind) {
    case guest::CallEnd::Kind::answered:
      outcome = std::move(answer_);
      break;
    case guest::CallEnd::Kind::wall_clock:
    case guest::CallEnd::Kind::cpu:
      outcome.kind = Outcome::Kind::limit;
      outcome.limit = end.kind == guest::CallEnd::Kind::cpu ? LimitKind::cpu : LimitKind::wall_clock;
      break;
    case guest::CallEnd::Kind::lost:
      outcome.error = core::make_error(
          end.error.code, kStep,
          end.error.code == Errc::disconnected ? "the worker died: " + end.error.context : end.error.message());
      break;
    case guest::CallEnd::Kind::not_asked:
      outcome.error = std::move(end.error);
      break;
    case guest::CallEnd::Kind::abandoned:
      outcome.kind = Outcome::Kind::cancelled;
      break;
  }
  outcome.remarks = std::move(remarks_);
  outcome.elapsed = end.elapsed;
  outcome.cpu = end.cpu;
  if (end.account) outcome.explanation = explain(*end.account);
  return outcome;
}

}  // namespace heddle::sandbox::quickjs
