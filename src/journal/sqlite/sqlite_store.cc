// Threads: one connection writes and one checkpoints, and both belong to the thread that leads the group commit; each
// reading thread takes a connection from a pool. Processes: SQLite's own locks.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "checkpoint.h"
#include "connection.h"
#include "files.h"
#include "heddle/journal/core/flow_index.h"
#include "heddle/journal/core/group_commit.h"
#include "heddle/journal/sqlite/sqlite.h"
#include "layout.h"
#include "rows.h"

namespace heddle::journal {
namespace {

// Appends of other processes are seen by looking: WAL has no notification.
constexpr auto kLookAgain = std::chrono::milliseconds(50);

class Writer {
 public:
  static core::Result<std::unique_ptr<Writer>> make(std::unique_ptr<Connection> connection,
                                                    std::unique_ptr<Connection> checkpoints,
                                                    std::uint64_t index_every) {
    std::unique_ptr<Writer> writer(new Writer(std::move(connection), index_every));
    Connection& c = *writer->connection_;
    HEDDLE_ASSIGN(writer->checkpointer_, Checkpointer::make(c, std::move(checkpoints)));
    HEDDLE_ASSIGN(writer->begin_, c.prepare("BEGIN IMMEDIATE"));
    HEDDLE_ASSIGN(writer->commit_, c.prepare("COMMIT"));
    HEDDLE_ASSIGN(writer->head_, c.prepare(kReadHead));
    HEDDLE_ASSIGN(writer->set_head_, c.prepare(kSetHead));
    HEDDLE_ASSIGN(writer->flow_, c.prepare(kReadFlow));
    HEDDLE_ASSIGN(writer->set_flow_, c.prepare(kSetFlow));
    HEDDLE_ASSIGN(writer->border_, c.prepare(kReadBorder));
    HEDDLE_ASSIGN(writer->scan_, c.prepare(kScan));
    HEDDLE_ASSIGN(writer->index_facts_, c.prepare(kIndexFacts));
    HEDDLE_ASSIGN(writer->insert_, c.prepare(kInsertFact));
    HEDDLE_ASSIGN(writer->insert_body_, c.prepare(kInsertBody));
    HEDDLE_ASSIGN(const std::int64_t vacuum, c.number("PRAGMA auto_vacuum"));
    writer->gives_pages_back_ = vacuum == 1;
    return writer;
  }

  /// Does a commit leave no page unused? A journal has no free pages.
  [[nodiscard]] bool gives_pages_back() const { return gives_pages_back_; }

  CommitResult commit(Batch& batch, const Wait& wait) {
    using Status = CommitResult::Status;
    core::Result<Transaction> transaction = [&] {
      const WaitScope scope(*connection_, wait);
      return Transaction::begin(*connection_, begin_);
    }();
    if (!transaction.ok()) {
      const core::Errc code = transaction.error().code;
      const bool waited = code == core::Errc::timed_out || code == core::Errc::cancelled;
      return {waited ? Status::not_begun : Status::failed, transaction.error()};
    }
    core::Result<void> written = write(batch);
    if (written.ok()) {
      written = transaction.value().commit(commit_);
      if (!written.ok()) {
        core::Error& error = written.error();
        error.step = "write to the journal";  // to SQLite a COMMIT is a statement that reads
        // The commit's pages may have reached the disk although the sync's answer was an error.
        if (error.code == core::Errc::system || error.sys_errno != 0) {
          error.context += "; whether the facts are stored is not known";
        }
      }
    }
    if (!written.ok()) return {Status::failed, written.error()};
    sequencer_.committed();
    checkpointer_->after_commit(wait);
    return {};
  }

 private:
  Writer(std::unique_ptr<Connection> connection, std::uint64_t index_every)
      : connection_(std::move(connection)), index_every_(index_every) {}

  core::Result<void> write(Batch& batch) {
    HEDDLE_ASSIGN(const HeadRow head, read_head(*connection_, head_));
    const std::string schema = kSchema.text();
    const Time time = now();
    if (const auto unknown = sequencer_.begin(head, time)) {
      HEDDLE_TRY(check_border(border_, head.indexed));
      HEDDLE_ASSIGN(const std::vector<Fact> facts, facts_from(scan_, head, *unknown));
      sequencer_.learn(facts);
    }
    insert_.text(4, schema).integer(5, time.time_since_epoch().count());  // the same for all rows
    const auto count_of = [this](const std::string& flow) { return facts_of(*connection_, flow_, flow); };
    for (std::span<Job* const> jobs = batch.jobs(); !jobs.empty(); jobs = batch.more()) {
      for (Job* const job : jobs) {
        HEDDLE_TRY(sequencer_.number(*job, count_of, [this](const NewRow& row) { return insert(row); }));
        if (!job->erase.empty()) HEDDLE_TRY(erase(*job));
      }
    }
    if (sequencer_.index_due(index_every_)) HEDDLE_TRY(write_index());
    const std::string newest = std::max(head.schema, kSchema).text();
    core::Result<void> set = set_head_.text(1, newest)
                                 .integer(2, static_cast<std::int64_t>(sequencer_.head().sequence))
                                 .blob(3, sequencer_.head().checksum.raw())
                                 .integer(4, static_cast<std::int64_t>(sequencer_.indexed()))
                                 .run();
    set_head_.reset();
    return set;
  }

  // Rare, so its statements are not kept.
  core::Result<void> erase(const Job& job) {
    if (job.erase.back().last >= job.receipt.first) {
      return core::make_error(core::Errc::invalid_argument, "prune the journal", "it has no such facts");
    }
    HEDDLE_ASSIGN(Statement facts, connection_->prepare(kErase));
    for (const Range& range : job.erase) {
      HEDDLE_TRY(facts.integer(1, static_cast<std::int64_t>(range.first))
                     .integer(2, static_cast<std::int64_t>(range.last))
                     .run());
    }
    return connection_->run(kEraseBodies);
  }

  core::Result<void> write_index() {
    for (const FlowTail& flow : sequencer_.flow_tails()) {
      const std::string packed = pack_sequences(flow.sequences);
      const auto last = static_cast<std::int64_t>(flow.sequences.back());
      HEDDLE_TRY(index_facts_.text(1, flow.flow).integer(2, last).blob(3, packed).run());
      HEDDLE_TRY(set_flow_.text(1, flow.flow).integer(2, static_cast<std::int64_t>(flow.facts)).run());
    }
    sequencer_.index_written();
    return {};
  }

  core::Result<void> insert(const NewRow& row) {
    const Draft& draft = *row.draft;
    insert_.integer(1, static_cast<std::int64_t>(row.sequence))
        .integer(2, static_cast<std::int64_t>(row.ordinal))
        .blob(3, row.checksum.raw())
        .text(6, draft.flow)
        .text(7, draft.effect)
        .text(8, kind_name(draft.kind))
        .text(9, draft.payload);
    if (row.body_digest == nullptr) {
      insert_.null(10).null(11);
    } else if (row.body_inline()) {
      insert_.blob(10, row.body_digest->raw()).text(11, *draft.body);
    } else {
      insert_.blob(10, row.body_digest->raw()).null(11);
      HEDDLE_TRY(insert_body_.blob(1, row.body_digest->raw()).text(2, *draft.body).run());
    }
    return insert_.run();
  }

  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Checkpointer> checkpointer_;
  const std::uint64_t index_every_;
  bool gives_pages_back_ = false;
  Statement begin_, commit_, head_, set_head_, flow_, set_flow_, border_, scan_, index_facts_, insert_, insert_body_;
  Sequencer sequencer_;
};

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, SqliteOptions options, std::unique_ptr<Writer> writer, std::unique_ptr<Reader> reader)
      : path_(std::move(path)),
        options_(std::move(options)),
        writer_(std::move(writer)),
        group_([this](Batch& batch, const Wait& wait) { return writer_->commit(batch, wait); }) {
    idle_.push_back(std::move(reader));
  }

  core::Result<Receipt> append(std::span<const Draft> drafts, const Wait& wait) override {
    if (writer_ == nullptr) {
      return core::make_error(core::Errc::invalid_argument, "append to the journal", path_ + ": opened for reading");
    }
    auto receipt = group_.append(drafts, wait);
    if (receipt.ok()) bell_.ring();
    return receipt;
  }

  core::Result<std::uint64_t> erase(std::span<const Range> ranges, const Draft& record, const Wait& wait) override {
    if (writer_ == nullptr) {
      return core::make_error(core::Errc::invalid_argument, "prune the journal", path_ + ": opened for reading");
    }
    if (!writer_->gives_pages_back()) {
      return core::make_error(
          core::Errc::unsupported, "prune the journal",
          path_ + ": an earlier build made it, without the means to give pages back; begin a new one");
    }
    HEDDLE_ASSIGN(const Receipt receipt, group_.append(std::span<const Draft>(&record, 1), wait, ranges));
    bell_.ring();
    return receipt.first;
  }

  core::Result<Page> read(const Query& query, const Wait& wait) override {
    HEDDLE_ASSIGN(std::unique_ptr<Reader> reader, take_reader(wait));
    auto page = reader->read(query, wait);
    give_back(std::move(reader));
    return page;
  }

  core::Result<Page> follow(const Query& query, const Wait& wait) override {
    Query rest = query;
    for (;;) {
      const std::uint32_t seen = bell_.state();
      HEDDLE_ASSIGN(Page page, read(rest, Wait{wait.stop, core::Deadline::never()}));
      if (!page.facts.empty() || wait.deadline.passed()) return page;
      if (auto over = wait_over(Wait{wait.stop, core::Deadline::never()}, "follow the journal", path_)) {
        return *std::move(over);
      }
      rest.from = page.next;
      const core::Deadline look = core::Deadline::earlier(core::Deadline::after(kLookAgain), wait.deadline);
      bell_.wait(seen, Wait{wait.stop, look});
    }
  }

  core::Result<Head> head(const Wait& wait) override {
    HEDDLE_ASSIGN(std::unique_ptr<Reader> reader, take_reader(wait));
    auto head = reader->head(wait);
    give_back(std::move(reader));
    return head;
  }

  core::Result<void> check_storage(const Wait& wait) override {
    HEDDLE_ASSIGN(std::unique_ptr<Reader> reader, take_reader(wait));
    auto checked = reader->check_storage(wait);
    give_back(std::move(reader));
    return checked;
  }

 private:
  // At most this many connections are kept for readers to come.
  static constexpr std::size_t kIdleReaders = 4;

  core::Result<std::unique_ptr<Reader>> take_reader(const Wait& wait) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Reader> reader = std::move(idle_.back());
        idle_.pop_back();
        return reader;
      }
    }
    HEDDLE_ASSIGN(std::unique_ptr<Connection> connection, open_journal(path_, options_, wait));
    return Reader::make(std::move(connection));
  }

  void give_back(std::unique_ptr<Reader> reader) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleReaders) idle_.push_back(std::move(reader));
  }

  const std::string path_;
  const SqliteOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Reader>> idle_;
  std::unique_ptr<Writer> writer_;
  GroupCommit group_;
  Bell bell_;
};

}  // namespace

core::Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, const SqliteOptions& options,
                                                 const Wait& wait) {
  if (options.mode == SqliteMode::read_write_create) {
    HEDDLE_TRY(create_journal_file(path));
  } else {
    HEDDLE_TRY(check_files(path));
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      return errno == ENOENT ? core::make_error(core::Errc::not_found, "open the journal", path + ": no such file")
                             : core::system_error("open the journal", path);
    }
  }
  std::unique_ptr<Writer> writer;
  if (options.mode != SqliteMode::read_only) {
    HEDDLE_ASSIGN(std::unique_ptr<Connection> connection, open_journal(path, options, wait));
    HEDDLE_ASSIGN(std::unique_ptr<Connection> checkpoints, open_journal(path, options, wait));
    HEDDLE_ASSIGN(writer, Writer::make(std::move(connection), std::move(checkpoints), options.index_every));
  }
  HEDDLE_ASSIGN(std::unique_ptr<Connection> connection, open_journal(path, options, wait));
  HEDDLE_ASSIGN(std::unique_ptr<Reader> reader, Reader::make(std::move(connection)));
  return std::unique_ptr<Store>(std::make_unique<SqliteStore>(path, options, std::move(writer), std::move(reader)));
}

}  // namespace heddle::journal
