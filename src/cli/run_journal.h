// RunJournal: the runs of one `heddle run` as facts in a journal (JRN-5): what is about to run is durable before it
// runs, and how it ended before anybody is told.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/journal/core/store.h"
#include "report.h"

namespace heddle::cli {

enum class Runs : std::uint8_t { one, many };

/// One flow: FLOW_STARTED, for each run an INTENT, the denials and an OUTCOME, and FLOW_ENDED. A thread appends, so
/// that neither a slow disk nor a server that is away keeps the deadlines of runs from being noticed; what waits
/// meanwhile becomes one transaction.
class RunJournal {
 public:
  /// `name` of the journal as heddle/journal/open takes it; `script` as the user named it. The flow has begun, durably,
  /// when it returns. `stop` ends a wait for whoever holds the journal, with Errc::cancelled.
  [[nodiscard]] static core::Result<std::unique_ptr<RunJournal>> open(const std::string& name, std::string_view script,
                                                                      Runs runs, std::stop_token stop);
  /// The same in a journal that is open.
  [[nodiscard]] static core::Result<std::unique_ptr<RunJournal>> begin_in(std::unique_ptr<journal::Store> store,
                                                                          std::string_view script, Runs runs,
                                                                          std::stop_token stop);
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;
  ~RunJournal();

  /// Facts that are on their way. One thread.
  class Pending {
   public:
    /// Readable once they are durable or it is known that they are not.
    [[nodiscard]] int fd() const { return event_.get(); }
    /// Nothing yet, or whether they are durable.
    [[nodiscard]] std::optional<core::Result<void>> result() const;

   private:
    friend class RunJournal;
    core::Fd event_;
    mutable std::mutex mutex_;
    std::optional<core::Result<void>> result_;
  };

  /// Run `number`, from 1, is about to begin.
  [[nodiscard]] std::shared_ptr<const Pending> begin(std::uint64_t number, const sandbox::quickjs::RunRequest& request);
  /// It has ended so. Of a single run the flow has ended with it.
  [[nodiscard]] std::shared_ptr<const Pending> end(std::uint64_t number, const Report& report);

  /// All runs are over: waits until everything is durable, FLOW_ENDED included, or gives the first error of all.
  /// `result_json` is of the flow of many runs. To be called once.
  [[nodiscard]] core::Result<void> finish(OutcomeKind how, std::optional<std::string> result_json = std::nullopt);

 private:
  RunJournal(std::unique_ptr<journal::Store> store, std::string flow, Runs runs);

  struct Entry {
    std::vector<journal::Draft> drafts;
    std::shared_ptr<Pending> pending;
  };
  std::shared_ptr<const Pending> append(std::vector<journal::Draft> drafts);
  void write_all();

  const std::unique_ptr<journal::Store> store_;
  const std::string flow_;
  const Runs runs_;
  bool ended_ = false;  // FLOW_ENDED is on its way or there

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;                 // under the mutex
  bool closed_ = false;                     // likewise: nothing will be added
  std::optional<core::Error> first_error_;  // likewise
  std::thread thread_;
};

}  // namespace heddle::cli
