// Threads: one session writes and belongs to the thread that leads the group commit; each reading thread takes a
// session from a pool. Machines: a lock of the database's is held from the insert to the commit, so the order of
// sequences is the order of commits; and a fact whose sequence somebody else has taken is refused by its primary key.
#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "heddle/journal/core/flow_index.h"
#include "heddle/journal/postgres/postgres.h"
#include "reading.h"
#include "session.h"
#include "statements.h"
#include "tables.h"

namespace heddle::journal {
namespace {

using core::Errc;

// Appends of other processes are seen by looking; NOTIFY would serialise all commits of the database.
constexpr auto kLookAgain = std::chrono::milliseconds(100);
constexpr auto kTryAgain = std::chrono::milliseconds(50);

class Connector {
 public:
  Connector(std::string conninfo, PostgresOptions options)
      : conninfo_(std::move(conninfo)), options_(std::move(options)) {}

  core::Result<std::unique_ptr<Session>> connect(const Wait& wait) const {
    HEDDLE_ASSIGN(std::unique_ptr<Session> session, Session::connect(conninfo_, wait));
    HEDDLE_TRY(pg::open_tables(*session, options_.mode, wait));
    return session;
  }

  /// Tries again until it works, `patience` or the wait is over. What is no matter of connecting is an error at once.
  core::Result<std::unique_ptr<Session>> connect_patiently(const Wait& wait, core::Deadline patience) const {
    const Wait both{wait.stop, core::Deadline::earlier(wait.deadline, patience)};
    for (;;) {
      auto session = connect(both);
      if (session.ok() || session.error().code != Errc::disconnected) return session;
      if (both.deadline.passed() && !wait.deadline.passed()) return session;
      if (auto over = wait_over(wait, "connect to PostgreSQL", session.error().context)) return *std::move(over);
      std::this_thread::sleep_for(kTryAgain);
    }
  }

  [[nodiscard]] core::Duration patience() const { return options_.patience; }
  [[nodiscard]] PostgresMode mode() const { return options_.mode; }
  [[nodiscard]] std::uint64_t index_every() const { return options_.index_every; }

 private:
  std::string conninfo_;
  PostgresOptions options_;
};

// How long one call goes on trying: counted from when it first finds the server gone. A server that is there but slow
// is waited for as long as the caller's Wait says; one that is silent is found by TCP (session.cc).
class Patience {
 public:
  explicit Patience(const Connector& connector) : connector_(connector) {}

  [[nodiscard]] core::Deadline deadline() {
    if (!begun_) deadline_ = core::Deadline::after(connector_.patience());
    begun_ = true;
    return deadline_;
  }
  /// May this error be answered by trying again?
  [[nodiscard]] bool allows(const core::Error& error) {
    return error.code == Errc::disconnected && !deadline().passed();
  }

 private:
  const Connector& connector_;
  bool begun_ = false;
  core::Deadline deadline_ = core::Deadline::never();
};

class Writer {
 public:
  Writer(const Connector& connector, std::unique_ptr<Session> session)
      : connector_(connector), session_(std::move(session)) {}

  CommitResult commit(Batch& batch, const Wait& wait) {
    using Status = CommitResult::Status;
    Patience patience(connector_);
    const auto failed = [](core::Error error, bool begun) {
      const bool waited = error.code == Errc::timed_out || error.code == Errc::cancelled;
      return CommitResult{waited && !begun ? Status::not_begun : Status::failed, std::move(error)};
    };
    std::optional<HeadRow> locked;  // the journal's end, when the lock is held
    for (;;) {
      if (!locked) {
        if (session_ == nullptr || !session_->usable()) {
          auto connected = connect(wait, patience);
          if (!connected.ok()) return failed(connected.error(), false);
        }
        if (auto set_up = set_up_session(wait); !set_up.ok()) {
          if (patience.allows(set_up.error())) continue;
          return failed(set_up.error(), false);
        }
        if (auto over = wait_over(wait, "append to the journal", "before it began")) return failed(*over, false);
      }
      const bool guess = !locked && known_ && sequencer_.knows_all(*known_);
      auto head = locked  ? core::Result<HeadRow>(*std::exchange(locked, std::nullopt))
                  : guess ? core::Result<HeadRow>(*std::exchange(known_, std::nullopt))
                          : lock(wait);
      if (!head.ok()) {
        if (patience.allows(head.error())) continue;
        return failed(head.error(), false);
      }
      // From here on it is seen through: the caller's Wait does not count any more, the server's absence does.
      commit_sent_ = false;
      auto written = write(batch, head.value(), guess ? Lock::if_unchanged : Lock::held, {});
      if (written.ok()) {
        sequencer_.committed();
        known_ = HeadRow{std::max(head.value().schema, kSchema), sequencer_.head(), sequencer_.indexed()};
        return {};
      }
      // What was sent must not be committed by whatever comes next.
      if (session_->in_pipeline()) session_.reset();
      if (guess && session_ != nullptr && session_->usable() && guessed_wrong(written.error())) continue;
      if (commit_sent_ && written.error().code == Errc::disconnected) {
        auto found = was_committed(patience, locked);
        if (!found.ok()) {
          core::Error error = found.error();
          error.context += "; whether the facts are stored is not known";
          return failed(std::move(error), true);
        }
        if (found.value()) return {};
        continue;
      }
      if (patience.allows(written.error())) continue;
      session_.reset();  // the server rolls back
      return failed(written.error(), true);
    }
  }

 private:
  // Taken already, or to be taken by the statement that inserts the facts, which fails unless the journal still ends as
  // it did after this store's last append. Then one append costs one round trip, and a small one a single statement.
  enum class Lock : std::uint8_t { held, if_unchanged };

  // More than this many rows are sent column by column, in one statement, which is dearer for one row.
  static constexpr std::size_t kFewRows = 4;
  // As many are sent while others are still coming: the server works on them meanwhile.
  static constexpr std::size_t kManyRows = 16;

  // Somebody else has appended (unique_violation), or holds a lock that is not waited for here (kWriter).
  [[nodiscard]] bool guessed_wrong(const core::Error& error) const {
    return session_->state() == "23505" || error.code == Errc::timed_out;
  }

  core::Result<void> connect(const Wait& wait, Patience& patience) {
    HEDDLE_ASSIGN(session_, connector_.connect_patiently(wait, patience.deadline()));
    set_up_ = false;
    // The server may have been restored from a copy, and lack what was the end.
    known_.reset();
    sequencer_.forget();
    border_ = 0;
    return {};
  }

  core::Result<void> set_up_session(const Wait& wait) {
    if (set_up_) return {};
    const auto done = session_->run(pg::kWriter, {}, wait);
    if (!done.ok()) return done.error();
    set_up_ = true;
    return {};
  }

  core::Result<HeadRow> lock(const Wait& wait) {
    const auto begun = session_->run(pg::kBegin, {}, wait);
    if (!begun.ok()) return begun.error();
    const auto awaits = session_->run(pg::kAwaitLock, {}, wait);
    const auto locked = awaits.ok() ? session_->run(pg::kLock, {}, wait) : awaits.error();
    // By another statement: one that waits for a lock sees what was there before.
    auto head = locked.ok() ? pg::head_of(session_->run(pg::kReadHead, {}, wait)) : locked.error();
    if (!head.ok() && session_->usable()) (void)session_->run(pg::kRollback, {}, wait);
    return head;
  }

  // All of a batch and its commit, in one round trip, and one more for each flow that is not known.
  core::Result<void> write(Batch& batch, const HeadRow& head, Lock lock, const Wait& wait) {
    HEDDLE_TRY(session_->prepare({pg::kInsertFact, pg::kInsertFacts, pg::kInsertBody, pg::kReadFlow, pg::kIndexFacts,
                                  pg::kSetFlows, pg::kSetHead, pg::kCommit},
                                 wait));
    const std::span<Job* const> first = batch.jobs();
    if (std::any_of(first.begin(), first.end(), [](const Job* job) { return !job->erase.empty(); })) {
      HEDDLE_TRY(session_->prepare({pg::kErase, pg::kEraseBodies}, wait));
    }
    const std::string schema = kSchema.text();
    const Time time = now();
    // With the lock still to be taken all that is read here is right if the journal proves unchanged.
    if (const auto unknown = sequencer_.begin(head, time)) {
      if (std::exchange(border_, head.indexed) != head.indexed) {
        HEDDLE_TRY(pg::check_border(*session_, head.indexed, wait));
      }
      HEDDLE_ASSIGN(const std::vector<Fact> facts, pg::facts_from(*session_, head, *unknown, wait));
      sequencer_.learn(facts);
    }
    const auto count_of = [&](const std::string& flow) { return pg::facts_of(*session_, flow, wait); };
    std::vector<NewRow> rows;  // not sent yet
    for (std::span<Job* const> jobs = batch.jobs(); !jobs.empty(); jobs = batch.more()) {
      for (Job* const job : jobs) {
        HEDDLE_TRY(sequencer_.number(*job, count_of, [&](const NewRow& row) -> core::Result<void> {
          rows.push_back(row);
          return {};
        }));
      }
      if (rows.size() < kManyRows) continue;
      HEDDLE_TRY(send_facts(rows, time, schema, wait));
      HEDDLE_TRY(session_->flush(wait));
      rows.clear();
    }
    HEDDLE_TRY(send_facts(rows, time, schema, wait));
    HEDDLE_TRY(send_erase(batch, wait));
    const bool index = sequencer_.index_due(connector_.index_every());
    if (index) HEDDLE_TRY(send_index(wait));
    if (index || head.schema < kSchema) HEDDLE_TRY(send_head(head.schema, wait));
    if (lock == Lock::held) HEDDLE_TRY(session_->send(pg::kCommit, {}, wait));
    commit_sent_ = true;
    return session_->finish(wait);
  }

  core::Result<void> send_erase(const Batch& batch, const Wait& wait) {
    bool erased = false;
    for (const Job* const job : batch.jobs()) {
      if (job->erase.empty()) continue;
      if (job->erase.back().last >= job->receipt.first) {
        return core::make_error(Errc::invalid_argument, "prune the journal", "it has no such facts");
      }
      erased = true;
      for (const Range& range : job->erase) {
        HEDDLE_TRY(session_->send(pg::kErase, {number(range.first), number(range.last)}, wait));
      }
    }
    return erased ? session_->send(pg::kEraseBodies, {}, wait) : core::Result<void>();
  }

  static Parameter number(std::uint64_t value) { return Parameter::number(static_cast<std::int64_t>(value)); }

  core::Result<void> send_index(const Wait& wait) {
    const auto flows = sequencer_.flow_tails();
    Column ids(Column::Type::text, flows.size());
    Column facts(Column::Type::number, flows.size());
    Column last(Column::Type::number, flows.size());
    Column sequences(Column::Type::bytes, flows.size());
    for (const FlowTail& flow : flows) {
      ids.add(Parameter::text(flow.flow));
      facts.add(number(flow.facts));
      last.add(number(flow.sequences.back()));
      sequences.add(Parameter::bytes(pack_sequences(flow.sequences)));
    }
    sequencer_.index_written();
    HEDDLE_TRY(session_->send(pg::kIndexFacts, {ids.parameter(), last.parameter(), sequences.parameter()}, wait));
    return session_->send(pg::kSetFlows, {ids.parameter(), facts.parameter()}, wait);
  }

  core::Result<void> send_head(const SchemaVersion& schema, const Wait& wait) {
    const Head& end = sequencer_.head();
    return session_->send(pg::kSetHead,
                          {Parameter::text(std::max(schema, kSchema).text()), number(end.sequence),
                           Parameter::bytes(end.checksum.raw()), number(sequencer_.indexed())},
                          wait);
  }

  // Its columns that differ from fact to fact, beginning with the ordinal.
  static std::array<Parameter, 8> columns_of(const NewRow& row) {
    const Draft& draft = *row.draft;
    return {number(row.ordinal),
            Parameter::bytes(row.checksum.raw()),
            Parameter::text(draft.flow),
            Parameter::text(draft.effect),
            Parameter::text(kind_name(draft.kind)),
            Parameter::text(draft.payload),
            row.body_digest != nullptr ? Parameter::bytes(row.body_digest->raw()) : Parameter::null(),
            row.body_inline() ? Parameter::text(*draft.body) : Parameter::null()};
  }

  core::Result<void> send_fact(const NewRow& row, Time time, std::string_view schema, const Wait& wait) {
    const auto columns = columns_of(row);
    return session_->send(pg::kInsertFact,
                          {number(row.sequence), columns[0], columns[1], Parameter::text(schema),
                           Parameter::number(time.time_since_epoch().count()), columns[2], columns[3], columns[4],
                           columns[5], columns[6], columns[7]},
                          wait);
  }

  core::Result<void> send_facts(const std::vector<NewRow>& rows, Time time, std::string_view schema, const Wait& wait) {
    // The facts first: with them comes the lock.
    if (rows.size() > kFewRows) {
      HEDDLE_TRY(send_columns(rows, time, schema, wait));
    } else {
      for (const NewRow& row : rows) HEDDLE_TRY(send_fact(row, time, schema, wait));
    }
    for (const NewRow& row : rows) {
      if (row.body_digest == nullptr || row.body_inline()) continue;
      HEDDLE_TRY(session_->send(pg::kInsertBody,
                                {Parameter::bytes(row.body_digest->raw()), Parameter::text(*row.draft->body)}, wait));
    }
    return {};
  }

  core::Result<void> send_columns(const std::vector<NewRow>& rows, Time time, std::string_view schema,
                                  const Wait& wait) {
    using Type = Column::Type;
    std::vector<Column> columns;
    for (const Type type :
         {Type::number, Type::bytes, Type::text, Type::text, Type::text, Type::text, Type::bytes, Type::text}) {
      columns.emplace_back(type, rows.size());
    }
    for (const NewRow& row : rows) {
      const auto values = columns_of(row);
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(values[i]);
    }
    return session_->send(
        pg::kInsertFacts,
        {number(rows.front().sequence), Parameter::text(schema), Parameter::number(time.time_since_epoch().count()),
         columns[0].parameter(), columns[1].parameter(), columns[2].parameter(), columns[3].parameter(),
         columns[4].parameter(), columns[5].parameter(), columns[6].parameter(), columns[7].parameter()},
        wait);
  }

  // After a COMMIT without an answer. Taking the lock waits for the lost session's transaction to end one way or the
  // other; then the last fact of the batch is there with our checksum, which covers all before it, or it is not. Then
  // the lock stays taken for another attempt, so that what the lost session has still to do comes after it and fails.
  core::Result<bool> was_committed(Patience& patience, std::optional<HeadRow>& end) {
    const Head ours = sequencer_.head();
    for (;;) {
      HEDDLE_TRY(connect({}, patience));
      const auto set_up = set_up_session({});
      auto locked = set_up.ok() ? lock({}) : set_up.error();
      if (!locked.ok()) {
        if (patience.allows(locked.error())) continue;
        return locked.error();
      }
      const auto rows =
          session_->run(pg::kChecksumOf, {Parameter::number(static_cast<std::int64_t>(ours.sequence))}, {});
      if (!rows.ok()) {
        if (patience.allows(rows.error())) continue;
        return rows.error();
      }
      if (rows.value().count() != 1 || rows.value().bytes_at(0, 0) != ours.checksum.raw()) {
        end = std::move(locked).value();
        return false;
      }
      (void)session_->run(pg::kRollback, {}, {});
      return true;
    }
  }

  const Connector& connector_;
  std::unique_ptr<Session> session_;
  bool set_up_ = false;  // kWriter
  Sequencer sequencer_;
  std::uint64_t border_ = 0;      // of the index, as checked by this session
  std::optional<HeadRow> known_;  // the journal's end after this store's last append; nothing when it is not known
  bool commit_sent_ = false;      // of the write under way: it may be durable though no answer came
};

class PostgresStore final : public Store {
 public:
  PostgresStore(Connector connector, std::unique_ptr<Session> session)
      : connector_(std::move(connector)),
        writer_(connector_, std::move(session)),
        // The server may be on this machine, and have use for its processors.
        group_([this](Batch& batch, const Wait& wait) { return writer_.commit(batch, wait); },
               GroupCommit::Waiting::sleeping) {}

  core::Result<Receipt> append(std::span<const Draft> drafts, const Wait& wait) override {
    if (connector_.mode() == PostgresMode::read_only) {
      return core::make_error(Errc::invalid_argument, "append to the journal", "opened for reading");
    }
    auto receipt = group_.append(drafts, wait);
    if (receipt.ok()) bell_.ring();
    return receipt;
  }

  core::Result<std::uint64_t> erase(std::span<const Range> ranges, const Draft& record, const Wait& wait) override {
    if (connector_.mode() == PostgresMode::read_only) {
      return core::make_error(Errc::invalid_argument, "prune the journal", "opened for reading");
    }
    HEDDLE_ASSIGN(const Receipt receipt, group_.append(std::span<const Draft>(&record, 1), wait, ranges));
    bell_.ring();
    return receipt.first;
  }

  core::Result<Page> read(const Query& query, const Wait& wait) override {
    return with_session<Page>(wait, [&](Session& session) { return pg::read(session, query, wait); });
  }

  core::Result<Page> follow(const Query& query, const Wait& wait) override {
    Query rest = query;
    const Wait no_deadline{wait.stop, core::Deadline::never()};
    for (;;) {
      const std::uint32_t seen = bell_.state();
      HEDDLE_ASSIGN(Page page, read(rest, no_deadline));
      if (!page.facts.empty() || wait.deadline.passed()) return page;
      if (auto over = wait_over(no_deadline, "follow the journal", "")) return *std::move(over);
      rest.from = page.next;
      bell_.wait(seen, {wait.stop, core::Deadline::earlier(core::Deadline::after(kLookAgain), wait.deadline)});
    }
  }

  core::Result<Head> head(const Wait& wait) override {
    return with_session<Head>(wait, [&](Session& session) -> core::Result<Head> {
      HEDDLE_ASSIGN(const HeadRow row, pg::head_of(session.run(pg::kReadHead, {}, wait)));
      return row.head;
    });
  }

  /// PostgreSQL looks after its own pages (initdb --data-checksums); the index of flows is ours.
  core::Result<void> check_storage(const Wait& wait) override {
    return with_session<void>(wait, [&](Session& session) { return pg::check_storage(session, wait); });
  }

 private:
  static constexpr std::size_t kIdleSessions = 4;

  // Reading changes nothing, so what a lost connection interrupted is done again.
  template <class T, class Work>
  core::Result<T> with_session(const Wait& wait, const Work& work) {
    Patience patience(connector_);
    for (;;) {
      std::unique_ptr<Session> session = take_idle();
      if (session == nullptr) {
        HEDDLE_ASSIGN(session, connector_.connect_patiently(wait, patience.deadline()));
      }
      core::Result<T> result = work(*session);
      if (!result.ok() && patience.allows(result.error())) continue;
      give_back(std::move(session));
      return result;
    }
  }

  std::unique_ptr<Session> take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Session> session = std::move(idle_.back());
    idle_.pop_back();
    return session;
  }

  void give_back(std::unique_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    if (session->usable() && idle_.size() < kIdleSessions) idle_.push_back(std::move(session));
  }

  const Connector connector_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
  Writer writer_;
  GroupCommit group_;
  Bell bell_;
};

}  // namespace

core::Result<std::unique_ptr<Store>> open_postgres(const std::string& conninfo, const PostgresOptions& options,
                                                   const Wait& wait) {
  Connector connector(conninfo, options);
  HEDDLE_ASSIGN(std::unique_ptr<Session> session, connector.connect(wait));
  return std::unique_ptr<Store>(std::make_unique<PostgresStore>(std::move(connector), std::move(session)));
}

}  // namespace heddle::journal
