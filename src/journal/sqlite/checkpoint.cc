#include "checkpoint.h"

namespace heddle::journal {

core::Result<std::unique_ptr<Checkpointer>> Checkpointer::make(Connection& writer, std::unique_ptr<Connection> second) {
  std::unique_ptr<Checkpointer> made(new Checkpointer(writer, std::move(second)));
  HEDDLE_ASSIGN(made->begin_, writer.prepare("BEGIN IMMEDIATE"));
  writer.watch_log();
  return made;
}

void Checkpointer::after_commit(const Wait& wait) {
  if (writer_.log_frames() < kCheckpointFrames) return;
  const Wait brief{wait.stop, core::Deadline::earlier(core::Deadline::after(kMostWait), wait.deadline)};
  const WaitScope scope(writer_, brief);
  const auto lock = Transaction::begin(writer_, begin_);  // rolled back at the end of the scope
  if (!lock.ok()) return;
  (void)second_->checkpoint();
}

}  // namespace heddle::journal
