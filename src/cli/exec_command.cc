#include "exec_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <set>

#include "complain.h"
#include "exec_report.h"
#include "exec_start.h"
#include "heddle/cli/effect_evaluator.h"
#include "heddle/core/text.h"
#include "heddle/core/units.h"
#include "heddle/guest/process.h"
#include "heddle/jail/policy_file/policy_file.h"
#include "heddle/wire/hello.h"
#include "relay.h"
#include "report.h"

namespace heddle::cli {
namespace {

using core::Errc;

constexpr std::chrono::seconds kStartTime{30};
constexpr std::chrono::seconds kEndTime{2};        // of a guest that was killed
constexpr std::chrono::seconds kCancelledTime{2};  // for output, once a signal has come
// The supervisor keeps a bounded number of denials, so they are fetched while the program runs; a flood of them must
// not keep us from its streams and from signals.
constexpr std::chrono::milliseconds kLookEvery{100};
constexpr std::chrono::milliseconds kLookTime{20};

struct Built {
  jail::ProgramGrants grants;
  std::optional<jail::Policy> policy;  // none: grants.ungranted()
  std::optional<StartFolder> folder;   // of the policy
};

core::Result<Built> build(const jail::Program& stub, FoundProgram program, const jail::ProgramFile& file) {
  HEDDLE_ASSIGN(
      auto grants,
      jail::ProgramGrants::open({std::move(program.fd), std::move(program.path), std::move(program.name)}, file.needs));
  if (grants.ungranted()) return Built{std::move(grants), std::nullopt, std::nullopt};
  HEDDLE_ASSIGN(auto folder, start_folder(file.working_directory, grants));
  HEDDLE_ASSIGN(auto policy, jail::UnsafePolicy::program(stub, grants, file.needs));
  return Built{std::move(grants), std::move(policy), std::move(folder)};
}

// What the stub reads: the number of arguments, the folder's name, the arguments, the first as it was typed, the
// environment, a NUL after each.
std::string words_of(const ExecOptions& options, const Built& built, const jail::ProgramFile& policy) {
  std::vector<std::string> arguments = built.grants.leading();
  arguments.insert(arguments.end(), options.command.begin() + (arguments.empty() ? 0 : 1), options.command.end());
  std::string words = std::to_string(arguments.size());
  words += '\0';
  (words += built.folder->place.path()) += '\0';
  for (const std::string& argument : arguments) (words += argument) += '\0';
  for (const std::string& variable : policy.environment) (words += variable) += '\0';
  return words;
}

// Why the program is over.
struct End {
  int code = kExitNotRun;
  std::string why;  // to be said once it is gone; empty when nothing is
};

class Execution {
 public:
  Execution(const ExecOptions& options, Signals& signals) : options_(options), signals_(signals) {
    // As a background job we write to the terminal all the same, and leave what is typed there to its owner.
    sigset_t of_terminals;
    sigemptyset(&of_terminals);
    sigaddset(&of_terminals, SIGTTIN);
    sigaddset(&of_terminals, SIGTTOU);
    (void)::pthread_sigmask(SIG_BLOCK, &of_terminals, nullptr);  // fails for no set of these
  }

  int run() {
    core::Result<int> code = attempt();
    if (!code.ok() && code.error().code == Errc::cancelled) return conclude(kExitCancelled);
    if (!code.ok()) say(code.error().message());
    return conclude(code.ok() ? code.value() : kExitNotRun);
  }

 private:
  // Its turn comes in deliver(): nobody's deadline waits for whoever reads standard error.
  void say(std::string_view line) { err_.add(complaint(line)); }

  core::Result<int> attempt() {
    HEDDLE_ASSIGN(policy_, load_policy(options_.policy, signals_));
    auto found = find_program(options_.command.front(), std::getenv("PATH"));
    if (const auto* none = std::get_if<NoProgram>(&found)) {
      say(none->what);
      return none->code;
    }
    FoundProgram& program = std::get<FoundProgram>(found);
    const std::string path = program.path;
    const std::string folder = helper_folder();
    HEDDLE_ASSIGN(const jail::Program stub, jail::open_program(folder + "/heddle-exec-stub"));
    policy_.needs.denials.observe = options_.explain == Explain::yes;
    jail::SupervisorOptions supervisor_options;
    supervisor_options.program = folder + "/heddle-supervisor";
    supervisor_options.cgroup.host = jail::CgroupOptions::Host::may_move;
    // Each takes a millisecond or more and needs nothing of the other. Without a thread to be had, one after the other.
    auto building = std::async([&] { return build(stub, std::move(program), policy_); });
    guest::Host host(supervisor_options);
    const core::Result<void> started = host.start();
    core::Result<Built> building_result = building.get();
    if (!building_result.ok() && building_result.error().step == jail::ProgramGrants::step()) {
      say(fmt::format("{}: {}", path, building_result.error().context));
      return kExitNoProgram;
    }
    HEDDLE_ASSIGN(const Built built, std::move(building_result));
    report_.emplace(policy_, options_.policy, built.grants);
    if (const auto& interpreter = built.grants.ungranted()) {
      say(fmt::format("{} is a script (#!), and its interpreter needs a grant like any program: {}", path,
                      report_->interpreter_line(interpreter->path())));
      return kExitNoProgram;
    }
    HEDDLE_TRY(started);
    HEDDLE_ASSIGN(std::vector<core::Fd> descriptors, descriptors_of(built));
    HEDDLE_ASSIGN(const auto process, guest::Process::spawn(host, *built.policy, stub, descriptors));
    descriptors.clear();  // the guest's ends of the pipes are the guest's alone
    give_streams(process->guest().identity());
    HEDDLE_TRY(process->await_ready(kStartTime));
    jail::Guest& guest = process->guest();
    wire::Channel& channel = process->channel();
    if (options_.explain == Explain::yes) {
      HEDDLE_ASSIGN(const jail::AppliedPolicy applied, guest.applied());
      report_->set_user(applied.uid, applied.own_identity);
      explain(applied, built.grants);
      say("applied: " + folder_line(*built.folder));
    }
    // From here the supervisor ends it on time, whatever becomes of us.
    if (policy_.wall_clock.count() != 0) {
      HEDDLE_TRY(guest.set_deadline(core::Deadline::after(policy_.wall_clock)));
    }
    channel.queue(wire::Message("go"));
    HEDDLE_TRY(channel.wait_flushed(core::Deadline::after(kStartTime)));
    End end = watch(channel, guest);
    take_down(guest, end.code);
    // What the program wrote before its end, then why it ended.
    output_.last();
    errors_.last();
    if (!cancelled_ && (output_.over() || errors_.over())) end = over_the_cap();
    const bool reader_left = out_.state() == Output::State::broken_pipe && end.code == kExitSignal + SIGPIPE;
    if (!end.why.empty() && !reader_left) say(end.why);
    for (const std::string& note : notes_) say(note);
    say_what_was_denied(end.code);
    if (options_.explain == Explain::no && ended_ && end.code != 0 && !reader_left &&
        !built.folder->instead_of.empty()) {
      say(folder_line(*built.folder));
    }
    return end.code;
  }

  core::Result<core::Fd> null_device() {
    core::Fd fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!fd.valid()) return core::system_error("open /dev/null");
    return fd;
  }

  // A pipe lets nobody open it but the user who made it, and programs open theirs: /dev/stdout, /dev/fd/1. Without the
  // right to give them away they cannot, and no more.
  void give_streams(std::uint32_t user) {
    if (user == 0) return;
    for (const int pipe : {input_.pipe(), output_.pipe(), errors_.pipe()}) {
      [[maybe_unused]] const int given = pipe >= 0 ? ::fchown(pipe, user, user) : 0;
    }
  }

  // The program, its words, its folder, its stdio; the other ends are kept.
  core::Result<std::vector<core::Fd>> descriptors_of(const Built& built) {
    std::vector<core::Fd> list;
    HEDDLE_ASSIGN(core::Fd copy, built.grants.program().duplicate());
    list.push_back(std::move(copy));
    HEDDLE_ASSIGN(core::Fd words, core::sealed_memory("heddle-words", words_of(options_, built, policy_)));
    list.push_back(std::move(words));
    HEDDLE_ASSIGN(core::Fd folder, built.folder->place.fd().duplicate());
    list.push_back(std::move(folder));
    if (policy_.input == jail::StandardInput::null) {
      HEDDLE_ASSIGN(core::Fd null, null_device());
      list.push_back(std::move(null));
    } else {
      HEDDLE_ASSIGN(core::FdPair pipe, core::pipe_pair());
      HEDDLE_TRY(core::set_nonblocking(pipe.second));
      list.push_back(std::move(pipe.first));
      core::Fd ours(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
      if (!ours.valid()) return core::system_error("duplicate standard input");
      input_ = InputRelay(std::move(ours), std::move(pipe.second));
    }
    HEDDLE_TRY(add_output(list, policy_.output, output_, out_));
    HEDDLE_TRY(add_output(list, policy_.errors, errors_, err_));
    return list;
  }

  core::Result<void> add_output(std::vector<core::Fd>& list, jail::StandardOutput kind, OutputRelay& relay,
                                Output& ours) {
    if (kind == jail::StandardOutput::null) {
      HEDDLE_ASSIGN(core::Fd null, null_device());
      list.push_back(std::move(null));
      return {};
    }
    HEDDLE_ASSIGN(core::FdPair pipe, core::pipe_pair());
    HEDDLE_TRY(core::set_nonblocking(pipe.first));
    list.push_back(std::move(pipe.second));
    relay = OutputRelay(std::move(pipe.first), ours, policy_.max_output);
    return {};
  }

  static core::Error told(wire::Message message) {
    core::Error error = wire::read_failed(std::move(message));
    if (error.step == "execute the program" && error.sys_errno == EACCES) {
      error.context +=
          "; every user must be allowed to read and execute it, its loader and the folders above: as root, Heddle "
          "runs it as a user of its own";
    }
    return error;
  }

  // What the streams wait for, from items[from] on, and what was found of it.
  static constexpr std::size_t kStreams = 4;
  void wait_for_streams(pollfd* items) const {
    items[0] = output_.wanted();
    items[1] = errors_.wanted();
    items[2] = {out_.waits() ? out_.fd() : -1, POLLOUT, 0};
    items[3] = {err_.waits() ? err_.fd() : -1, POLLOUT, 0};
  }
  void step_streams(const pollfd* items) {
    if (items[0].revents != 0) output_.step();
    if (items[1].revents != 0) errors_.step();
    if (items[2].revents != 0) out_.write_ready();
    if (items[3].revents != 0) err_.write_ready();
  }

  // Relays until the program has ended or must end.
  End watch(wire::Channel& channel, jail::Guest& guest) {
    const bool explains = options_.explain == Explain::yes;
    core::Deadline look = explains ? core::Deadline::after(kLookEvery) : core::Deadline::never();
    for (;;) {
      std::array<pollfd, 3 + kStreams> items = {pollfd{channel.fd().get(), POLLIN, 0}, pollfd{signals_.fd(), POLLIN, 0},
                                                input_.wanted()};
      wait_for_streams(&items[3]);
      const core::Deadline again = input_.in_background() ? core::Deadline::after(kLookEvery) : core::Deadline::never();
      if (::poll(items.data(), items.size(), core::Deadline::earlier(look, again).poll_ms()) < 0) {
        if (errno == EINTR) continue;
        return {kExitNotRun, core::system_error("poll").message()};
      }
      if (items[1].revents != 0 && signals_.take()) {
        patience_ = core::Deadline::after(kCancelledTime);
        cancelled_ = true;
        return {kExitCancelled, {}};
      }
      if (look.passed()) {
        look_at_denials(guest, core::Deadline::after(kLookTime));
        look = core::Deadline::after(kLookEvery);
      }
      if (items[2].revents != 0) input_.step();
      step_streams(&items[3]);
      if (output_.over() || errors_.over()) return over_the_cap();
      if (items[0].revents == 0) continue;
      const auto received = channel.receive();
      if (received.ok() && !received.value()) continue;
      return ending(received.ok() ? wire::as_message(*received.value()) : core::Result<wire::Message>(received.error()),
                    guest);
    }
  }

  [[nodiscard]] End over_the_cap() const {
    return {kExitOutputCap,
            fmt::format("{} wrote more than max_output, {}, and was ended; raise it in {}", options_.command.front(),
                        core::size_text(policy_.max_output), options_.policy)};
  }

  End ending(core::Result<wire::Message> message, jail::Guest& guest) {
    const std::string& name = options_.command.front();
    if (message.ok() && message.value().op() == "ended") {
      ended_ = true;
      const auto signalled = message.value().take_bool("signalled");
      const auto code = message.value().take_number("code", 255);
      if (signalled.ok() && code.ok()) {
        const int number = static_cast<int>(code.value());
        if (!signalled.value()) return {number, {}};
        return {kExitSignal + number, fmt::format("{} was ended by signal {} ({})", name, number, ::strsignal(number))};
      }
    }
    if (message.ok()) {
      const core::Error error = told(std::move(message).value());
      return {error.step == "execute the program" ? kExitNoProgram : kExitNotRun, error.message()};
    }
    const auto death = guest.wait(core::Deadline::after(kEndTime));
    if (!death.ok() || !death.value() || !death.value()->by_signal) {
      return {kExitNotRun, "heddle-exec-stub ended without a word: " + message.error().message()};
    }
    const int number = death.value()->code;
    if (death.value()->kind == jail::Death::Kind::timed_out) {
      return {kExitWallClock, fmt::format("{} took longer than wall_clock, {}, and was ended; raise it in {}", name,
                                          core::duration_text(policy_.wall_clock), options_.policy)};
    }
    if (death.value()->kind != jail::Death::Kind::signalled) {
      return {kExitSignal + number, fmt::format("{} and all it started: it {}", name, describe(*death.value()))};
    }
    return {kExitSignal + number,
            fmt::format("{} and all it started were ended by signal {} ({})", name, number, ::strsignal(number))};
  }

  // Writes what there is to write for as long as somebody may read it. A signal ends that.
  void deliver() {
    while (!stopped_ && !patience_.passed() && (out_.waits() || err_.waits())) {
      std::array<pollfd, 1 + kStreams> items = {pollfd{signals_.fd(), POLLIN, 0}};
      wait_for_streams(&items[1]);
      if (::poll(items.data(), items.size(), patience_.poll_ms()) < 0) {
        if (errno == EINTR) continue;
        return;
      }
      stopped_ = items[0].revents != 0 && signals_.take();
      step_streams(&items[1]);
    }
  }

  [[nodiscard]] std::string folder_line(const StartFolder& folder) const {
    if (folder.instead_of.empty()) return "working folder: " + folder.place.path();
    return fmt::format("working folder: {}, since no line of {} grants yours, {}", folder.place.path(), options_.policy,
                       folder.instead_of);
  }

  static int exit_of(const Output& output) {
    return output.state() == Output::State::broken_pipe ? kExitBrokenPipe : kExitOutput;
  }

  // The exit code: the program's is passed on only where what it wrote was, and 0 only where all was.
  int conclude(int code) {
    deliver();
    if (stopped_ || cancelled_) return kExitCancelled;
    out_.finish();
    if (output_.lost()) {
      code = exit_of(out_);
      if (out_.state() == Output::State::failed) say(out_.error().message());
    }
    if (input_.error() != 0) {
      code = kExitOutput;
      say(core::system_error(input_.error(), "read standard input").message());
    }
    deliver();
    if (stopped_) return kExitCancelled;
    if (errors_.lost() || (code == 0 && err_.state() != Output::State::good && err_.pending() != 0))
      return exit_of(err_);
    return code;
  }

  void explain(const jail::AppliedPolicy& applied, const jail::ProgramGrants& granted) {
    for (const std::string& line : jail::to_lines(applied)) say("applied: " + line);
    for (const jail::ProgramGrants::Called& script : granted.scripts()) say("applied: script: " + script.path);
    say("applied: program: " + granted.program_path());
    if (granted.loader()) say("applied: its interpreter, by itself: " + granted.loader()->path());
    say("applied: weaker than a script's: memory may become executable; names, sizes and times of files and "
        "targets of links are not hidden");
    if (policy_.needs.subprocesses == jail::Subprocesses::allowed) {
      say("applied: weaker than a script's: may start the programs under paths.execute (allow_exec)");
    } else {
      say(applied.notified == jail::Notified::listening
              ? "applied: starts no other program: one execve is let through, the stub's"
              : "applied: starts no program but itself and its loader; without notifications no more can be said");
    }
    std::string lists[3];
    std::set<std::pair<jail::Access, std::string>> said;  // several names may lead to one place
    for (const jail::ProgramGrants::Path& grant : granted.paths()) {
      if (!said.emplace(grant.access, grant.object.path()).second) continue;
      (lists[static_cast<std::size_t>(grant.access)] += ' ') += grant.object.path();
    }
    const char* const names[] = {"read", "write", "execute"};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!lists[i].empty()) say(fmt::format("applied: {}:{}", names[i], lists[i]));
    }
  }

  // A supervisor that is gone has taken what it knew along; the program is over all the same.
  void look_at_denials(jail::Guest& guest, core::Deadline deadline) {
    for (std::uint64_t left = 1; left != 0 && !deadline.passed();) {
      const core::Result<jail::Denials> denials = guest.take_denials(core::Deadline::after({}));
      if (!denials.ok()) return;
      report_->add(denials.value());
      left = denials.value().left;
    }
  }

  // What the group knows of an end that the stub saw as an exit or a signal.
  void note_limits(const jail::Death& death, int code) {
    if (!ended_ || code == 0 || !death.group) return;
    if (death.group->oom_kills != 0) {
      notes_.push_back(
          fmt::format("{} ran out of memory: the kernel killed {} of its processes; raise limits.memory in {}",
                      options_.command.front(), death.group->oom_kills, options_.policy));
    }
    if (death.group->processes_refused != 0) {
      notes_.push_back(fmt::format("{} was refused {} new processes; raise limits.processes in {}",
                                   options_.command.front(), death.group->processes_refused, options_.policy));
    }
  }

  // The stub has said its last word, or must end. Nothing is written before it has.
  void take_down(jail::Guest& guest, int code) {
    if (!ended_) guest.kill();
    const auto death = guest.wait(core::Deadline::after(kEndTime));
    if (death.ok() && death.value()) {
      note_limits(*death.value(), code);
      report_->add(guest.cgroup(), *death.value(), code);
    }
    look_at_denials(guest, core::Deadline::after(kEndTime));
    guest.close();
  }

  void say_what_was_denied(int code) {
    if (options_.explain == Explain::yes) {
      for (const std::string& line : report_->lines()) say(line);
    } else if (code != 0 && report_->refused() != 0) {
      say(fmt::format("{} system call{} refused; run again with --explain to see which, and what would allow it",
                      report_->refused(), report_->refused() == 1 ? " was" : "s were"));
    }
  }

  const ExecOptions& options_;
  Signals& signals_;
  jail::ProgramFile policy_;
  std::optional<ExecReport> report_;
  bool ended_ = false;              // the stub said so
  std::vector<std::string> notes_;  // beside why it ended
  Output out_ = Output::of(STDOUT_FILENO);
  Output err_ = Output::of(STDERR_FILENO);
  InputRelay input_;
  OutputRelay output_;
  OutputRelay errors_;
  core::Deadline patience_ = core::Deadline::never();  // with those who read
  bool cancelled_ = false;                             // a signal came while the program ran
  bool stopped_ = false;                               // one came while readers were waited for
};

}  // namespace

int run_exec(const ExecOptions& options, Signals& signals) { return Execution(options, signals).run(); }

}  // namespace heddle::cli
