#include "program_world.h"

#include <fcntl.h>
#include <unistd.h>

namespace heddle::jail {
namespace {

core::Fd null_device() { return core::Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

std::string words_of(const ProgramRun& run) {
  std::string words = std::to_string(run.arguments.size() + 1);
  words += '\0';
  (words += run.folder_name) += '\0';
  (words += run.program) += '\0';
  for (const std::string& argument : run.arguments) (words += argument) += '\0';
  return words;
}

}  // namespace

ProgramNeeds plain_needs() {
  ProgramNeeds needs;
  needs.namespaces.need = Need::if_available;
  needs.paths = runtime_files();
  return needs;
}

core::Result<Policy> policy_for(const Program& stub, const std::string& program, const ProgramNeeds& needs) {
  core::Fd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("open", program);
  HEDDLE_ASSIGN(const ProgramGrants grants, ProgramGrants::open({std::move(file), program, program}, needs));
  return UnsafePolicy::program(stub, grants, needs);
}

core::Result<ProgramOutcome> run_program(Supervisor& supervisor, const ProgramRun& run) {
  HEDDLE_ASSIGN(const Program stub, open_program(HEDDLE_LIBEXEC_DIR "/heddle-exec-stub"));
  core::Fd program(::open(run.program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program.valid()) return core::system_error("open", run.program);
  HEDDLE_ASSIGN(const Policy policy, policy_for(stub, run.program, run.needs));
  if (run.after_policy) run.after_policy();
  HEDDLE_ASSIGN(core::FdPair output, core::pipe_pair());
  HEDDLE_ASSIGN(core::Fd words, core::sealed_memory("words", words_of(run)));
  std::vector<core::Fd> more;
  more.push_back(std::move(program));
  more.push_back(std::move(words));
  more.emplace_back(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  more.push_back(null_device());
  more.push_back(std::move(output.second));
  more.push_back(null_device());
  prepare_if_asked(supervisor, policy);
  HEDDLE_ASSIGN(core::FdPair ends, core::stream_pair());
  HEDDLE_ASSIGN(wire::Channel channel, wire::Channel::adopt(std::move(ends.first)));
  HEDDLE_ASSIGN(Guest guest, supervisor.spawn(policy, stub, {}, std::move(ends.second), more));
  more.clear();
  ProgramOutcome outcome;
  outcome.first = next_message(channel);
  if (outcome.first.op() == "ready") {
    HEDDLE_TRY(guest.verify_confined());
    HEDDLE_ASSIGN(outcome.applied, guest.applied());
    channel.queue(wire::Message("go"));
    HEDDLE_TRY(channel.wait_flushed(core::Deadline::after(std::chrono::seconds(20))));
    outcome.first = next_message(channel);
  }
  outcome.death = wait_death(guest);
  HEDDLE_ASSIGN(outcome.denials, guest.take_denials());
  guest.close();
  HEDDLE_ASSIGN(outcome.output, core::read_all(output.first, std::size_t{64} << 10));
  return outcome;
}

}  // namespace heddle::jail
