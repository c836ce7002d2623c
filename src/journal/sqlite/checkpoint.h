// Folding the WAL into the file (a checkpoint) without SQLite's WAL-reset race (JRN-10).
//
// SQLite 3.7.0 to 3.51.2 has it in every kind of checkpoint that leaves the file to others: a checkpoint reads where
// the log ends; before it goes on, somebody commits, who finds the log wholly checkpointed and begins it anew; the
// first then marks pages of the new log as being in the file although it never copied them, and they are lost
// (https://www.sqlite.org/wal.html#walresetbug). SQLite begins such a checkpoint by itself after every commit that
// finds 1,000 pages in the log, so that is switched off on all connections of ours. Here the writer's connection takes
// the write lock, without which nobody commits, and a second one checkpoints. Checkpoints of all processes are put in
// order by the same lock.
//
// PASSIVE is the kind that cannot wait for the write lock itself. FULL and RESTART would want it, and fall back to
// PASSIVE without it. What closing the last connection does needs no help: SQLite has the file alone then.
#pragma once

#include <memory>

#include "connection.h"

namespace heddle::journal {

/// SQLite's own threshold: pages in the log.
inline constexpr int kCheckpointFrames = 1000;

/// Used by the thread that uses the writer's connection.
class Checkpointer {
 public:
  /// `second` is open on the same file as `writer`, and nobody else uses it. `writer` outlives this.
  [[nodiscard]] static core::Result<std::unique_ptr<Checkpointer>> make(Connection& writer,
                                                                        std::unique_ptr<Connection> second);

  /// To be called after each commit of the writer's. It waits for the write lock as `wait` says, at most kMostWait. If
  /// it has not got it by then, or the checkpoint fails, the log goes on growing and the next commit tries again: what
  /// was committed is durable in the log.
  void after_commit(const Wait& wait);

  static constexpr auto kMostWait = std::chrono::milliseconds(100);

 private:
  Checkpointer(Connection& writer, std::unique_ptr<Connection> second) : writer_(writer), second_(std::move(second)) {}

  Connection& writer_;
  std::unique_ptr<Connection> second_;
  Statement begin_;
};

}  // namespace heddle::journal
