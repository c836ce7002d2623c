#include "log_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "complain.h"
#include "fact_text.h"
#include "heddle/core/text.h"
#include "heddle/journal/core/flows.h"
#include "heddle/journal/core/prune.h"
#include "heddle/journal/core/replay.h"
#include "heddle/journal/open/open.h"
#include "interrupt.h"
#include "json.h"
#include "log_args.h"
#include "report.h"
#include "wrap.h"

namespace heddle::cli {
namespace {

using core::Errc;
using journal::Fact;
using journal::Wait;

constexpr auto kOpenPatience = std::chrono::seconds(30);
constexpr int kLookMs = 100;  // how often a wait for a slow reader looks at the stop
// Bodies come with their facts, so a page is what memory holds at a time.
constexpr std::size_t kPageFacts = 100;

// What to do next, where the message does not say so itself.
std::string_view advice_for(Errc code) {
  switch (code) {
    case Errc::not_found:
      return " (name a journal that is there; heddle run --journal makes one)";
    case Errc::disconnected:
      return " (see that the server runs, and that the address and the rights are right)";
    case Errc::timed_out:
      return " (try again)";
    default:
      return "";
  }
}

Colour colour_of(const Output& output) {
  if (!output.is_terminal()) return Colour::no;
  const char* const no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* const terminal = std::getenv("TERM");
  const bool plain =
      (no_color != nullptr && *no_color != '\0') || (terminal != nullptr && std::string_view(terminal) == "dumb");
  return plain ? Colour::no : Colour::yes;
}

class LogCommand {
 public:
  LogCommand(LogOptions options, Output& output, Interrupt& interrupt)
      : options_(std::move(options)), output_(output), interrupt_(interrupt), colour_(colour_of(output)) {}

  int run() {
    const auto access = changes() ? journal::Access::change : journal::Access::read;
    auto store = journal::open(options_.journal, access, {interrupt_.token(), core::Deadline::after(kOpenPatience)});
    if (!store.ok() && interrupt_.cause() == Interrupt::Cause::signal) {
      complain("stopped while waiting for the journal: " + store.error().context);
    }
    if (!store.ok()) return failed(store.error());
    store_ = std::move(store).value();
    switch (options_.mode) {
      case LogMode::verify:
        return verify();
      case LogMode::replay:
        return replay();
      case LogMode::flows:
        return flows();
      case LogMode::resolve:
        return resolve();
      case LogMode::prune:
        return prune();
      default:
        return log();
    }
  }

 private:
  [[nodiscard]] Wait wait() const { return {interrupt_.token(), core::Deadline::never()}; }

  int log() {
    options_.query.limit = kPageFacts;
    for (bool more = true; more;) {
      auto page = options_.follow ? store_->follow(options_.query, wait()) : store_->read(options_.query, wait());
      if (!page.ok()) return failed(page.error());
      for (const Fact& fact : page.value().facts) {
        if (options_.json) {
          add_json(fact_json(fact));
        } else {
          output_.add(fact_text(fact, colour_));
        }
      }
      if (!flush()) return output_.state() == Output::State::failed ? 0 : interrupted();  // finish() says why
      options_.query.from = page.value().next;
      more = options_.follow || !page.value().at_end;
    }
    return 0;
  }

  int verify() {
    const auto verified = journal::verify(*store_, wait());
    if (!verified.ok()) return failed(verified.error());
    if (options_.json) {
      add_json(verified_json(verified.value()));
    } else {
      output_.add(verified_text(journal::shown_name(options_.journal), verified.value()));
    }
    return 0;
  }

  int flows() {
    const auto which = options_.open_only ? journal::WhichFlows::open : journal::WhichFlows::all;
    const auto flows = journal::list_flows(*store_, which, wait());
    if (!flows.ok()) return failed(flows.error());
    for (const journal::FlowSummary& flow : flows.value()) {
      if (options_.json) {
        add_json(flow_summary_json(flow));
      } else {
        output_.add(flow_summary_text(flow, colour_));
      }
      if (!flush()) return output_.state() == Output::State::failed ? 0 : interrupted();  // finish() says why
    }
    return 0;
  }

  [[nodiscard]] bool changes() const {
    return options_.mode == LogMode::resolve || (options_.mode == LogMode::prune && !options_.dry_run);
  }

  [[nodiscard]] std::string by() const {
    return options_.by.empty() ? fmt::format("uid {}", ::geteuid()) : options_.by;
  }

  int prune() {
    const journal::PruneOptions options{*options_.before, options_.query.flow, by(), options_.reason};
    const auto plan = journal::plan_prune(*store_, options, wait());
    if (!plan.ok()) return failed(plan.error());
    std::uint64_t fact = 0;
    if (!options_.dry_run) {
      const auto pruned =
          journal::prune(*store_, plan.value(), options, {interrupt_.token(), core::Deadline::after(kOpenPatience)});
      if (!pruned.ok()) return failed(pruned.error());
      fact = pruned.value();
    }
    if (options_.json) {
      add_json(fmt::format(R"({{"facts":{},"flows":{},"sequence":{}}})", plan.value().facts, plan.value().flows, fact));
    } else {
      output_.add(fmt::format("{} facts of {} flows{}\n", plan.value().facts, plan.value().flows,
                              options_.dry_run ? " would be pruned"
                              : fact == 0      ? ": nothing to prune"
                                               : fmt::format(" pruned, as fact {} says", fact)));
    }
    return 0;
  }

  int resolve() {
    const Wait patience{interrupt_.token(), core::Deadline::after(kOpenPatience)};
    const auto fact = journal::resolve(*store_, options_.flow, options_.key, options_.resolution, by(), options_.reason,
                                       options_.output, patience);
    if (!fact.ok() && fact.error().code == Errc::not_found) {
      complain(fact.error().message() + " (heddle log JOURNAL --flows --open lists what is open)");
      return row_of(OutcomeKind::failed).exit_code;
    }
    if (!fact.ok()) return failed(fact.error());
    output_.add(options_.json ? fmt::format("{{\"sequence\":{}}}\n", fact.value())
                              : fmt::format("fact {}: {}\n", fact.value(), said()));
    return 0;
  }

  [[nodiscard]] std::string_view said() const {
    switch (options_.resolution) {
      case journal::Resolution::success:
        return "it was done; the flow goes on with this output when it is run again";
      case journal::Resolution::failure:
        return "it counts as failed; the flow learns of it when it is run again";
      case journal::Resolution::run_again:
        return "it is run again when the flow is";
    }
    return "";
  }

  // From the start, with the bodies that the state points to in the end.
  int replay() {
    journal::State state;
    Bodies bodies;
    journal::Query query;
    query.flow = options_.flow;
    query.limit = kPageFacts;
    if (!options_.json) query.bodies = journal::Bodies::digests_only;
    for (bool more = true; more;) {
      auto page = store_->read(query, wait());
      if (!page.ok()) return failed(page.error());
      for (Fact& fact : page.value().facts) fold(state, bodies, fact);
      query.from = page.value().next;
      more = !page.value().at_end;
    }
    const auto found = state.flows.find(options_.flow);
    if (found == state.flows.end()) {
      complain(fmt::format("{}: it has no flow {} (heddle log JOURNAL --flows lists them)",
                           journal::shown_name(options_.journal), core::bound_text(options_.flow, 300)));
      return row_of(OutcomeKind::failed).exit_code;
    }
    if (options_.json) {
      add_json(flow_json(found->first, found->second, bodies));
    } else {
      output_.add(flow_text(found->first, found->second, colour_));
    }
    return 0;
  }

  // What no longer is pointed to is dropped, so that attempts and repetitions do not add up in memory.
  void fold(journal::State& state, Bodies& bodies, Fact& fact) const {
    const auto points = [&] {
      const auto flow = state.flows.find(fact.flow);
      if (flow == state.flows.end()) return std::array<std::uint64_t, 4>{};
      const auto effect = flow->second.effects.find(fact.effect);
      const bool known = effect != flow->second.effects.end();
      return std::array<std::uint64_t, 4>{flow->second.started, flow->second.ended, known ? effect->second.intent : 0,
                                          known ? effect->second.settled_by : 0};
    };
    const auto before = points();
    journal::apply(state, fact);
    const auto after = points();
    for (const std::uint64_t sequence : before) {
      if (std::find(after.begin(), after.end(), sequence) == after.end()) bodies.erase(sequence);
    }
    const bool pointed_to = std::find(after.begin(), after.end(), fact.sequence) != after.end();
    if (options_.json && pointed_to && fact.body) bodies[fact.sequence] = std::move(fact.body->text);
  }

  void add_json(const std::string& line) {
    output_.add_json(line);
    output_.add("\n");
  }

  // False when there is nobody left to write for.
  bool flush() {
    while (output_.state() == Output::State::good && output_.pending() > 0) {
      if (interrupt_.cause() != Interrupt::Cause::none) return false;
      pollfd ready{output_.fd(), POLLOUT, 0};
      if (::poll(&ready, 1, kLookMs) <= 0) continue;
      if ((ready.revents & POLLERR) != 0) output_.reader_gone();
      output_.write_ready();
    }
    return output_.state() == Output::State::good;
  }

  [[nodiscard]] int interrupted() const {
    return interrupt_.cause() == Interrupt::Cause::signal ? row_of(OutcomeKind::cancelled).exit_code : kExitBrokenPipe;
  }

  [[nodiscard]] int failed(const core::Error& error) const {
    if (error.code == Errc::cancelled && interrupt_.cause() != Interrupt::Cause::none) return interrupted();
    complain(error.message() + std::string(advice_for(error.code)));
    return error.code == Errc::damaged ? kExitDamaged : row_of(OutcomeKind::failed).exit_code;
  }

  LogOptions options_;
  Output& output_;
  Interrupt& interrupt_;
  const Colour colour_;
  std::unique_ptr<journal::Store> store_;
};

}  // namespace

int run_log(const std::vector<std::string>& args) {
  auto options = parse_log_args(args, journal::now());
  if (!options.ok()) {
    complain(options.error().step + " (heddle log --help lists all)");
    return kExitUsage;
  }
  auto signals = Signals::install();
  if (!signals.ok()) {
    complain(signals.error());
    return row_of(OutcomeKind::failed).exit_code;
  }
  auto output = Output::open(STDOUT_FILENO);
  if (!output.ok()) {
    complain(output.error());
    return kExitOutput;
  }
  if (options.value().mode == LogMode::help) {
    output.value().add(log_help_text());
    return finish(output.value(), 0);
  }
  auto interrupt = Interrupt::start(signals.value(), output.value());
  if (!interrupt.ok()) {
    complain(interrupt.error());
    return row_of(OutcomeKind::failed).exit_code;
  }
  const int code = LogCommand(std::move(options).value(), output.value(), *interrupt.value()).run();
  const bool stopped = interrupt.value()->cause() != Interrupt::Cause::none;
  interrupt.value().reset();  // before the output that it watches is closed
  signals.value().release();  // what is left to write can wait for a reader; Ctrl-C ends that
  if (stopped && code != 0) return code;
  return code == kExitBrokenPipe ? code : finish(output.value(), code);
}

}  // namespace heddle::cli
