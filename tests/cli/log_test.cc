// `heddle log`, `heddle log verify` and `heddle replay` as a process, on journals that are made here.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "heddle/core/check.h"
#include "heddle/journal/core/facts.h"
#include "heddle/journal/open/open.h"
#include "process.h"
#include "testing/postgres_server.h"

namespace heddle::test {
namespace {

using namespace journal;  // NOLINT(google-build-using-namespace): the facts of the tests

constexpr EffectRef kOne{"nightly", "clean/1", "sandboxEval", 1};
constexpr EffectRef kTwo{"nightly", "clean/2", "sandboxEval", 1};

std::vector<Draft> some_facts() {
  return {flow_started("nightly", "report.js", R"({"day":"monday"})"),
          intent(kOne, Repeatable::yes, {{"script", "sha256:00"}}, "[1,2]"),
          outcome_success(kOne, "3"),
          flow_started("other", "other.js", "null"),
          intent(kTwo, Repeatable::yes, {}, "[]"),
          access_denied(kTwo, "openat", "/etc/passwd", "landlock"),
          outcome_failure(kTwo, "scriptError", "no \x1B[31mcolour\x07 \xC2\x9B", R"({"line":1})"),
          flow_ended("nightly", Ending::success, {}, {}, "[3]")};
}

void append(const std::string& name, const std::vector<Draft>& drafts) {
  const auto store = open(name, Access::append);
  ASSERT_TRUE(store.ok()) << store.error().message();
  ASSERT_TRUE(store.value()->append(drafts, {}).ok());
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(::sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(::sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << ::sqlite3_errmsg(db);
  ::sqlite3_close(db);
}

bool has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

class Log : public ::testing::Test {
 protected:
  Log() { append(journal(), some_facts()); }
  [[nodiscard]] std::string journal() const { return folder_.path("journal"); }
  static Launch command(std::vector<std::string> args) { return {HEDDLE_FAKE_COMMAND, std::move(args)}; }
  static void expect_failure(const std::vector<std::string>& args, int code, std::initializer_list<const char*> words) {
    const auto ended = run(command(args));
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(split_lines(ended.err).size(), 1U) << ended.err;
    EXPECT_EQ(ended.err.compare(0, 8, "heddle: "), 0) << ended.err;
    for (const char* word : words) EXPECT_TRUE(has(ended.err, word)) << word << " in " << ended.err;
  }
  Folder folder_;
};

// JRN-7
TEST_F(Log, ShowsFactsWithin80ColumnsAndWithoutControls) {
  const auto ended = run(command({"log", journal()}));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  for (const char* words : {"FLOW_STARTED", "report.js input {\"day\":\"monday\"}", "INTENT         nightly  clean/1",
                            "input [1,2] script=sha256:00", "output 3",
                            "refused by the kernel: openat /etc/passwd, rule", "failure scriptError: no [31mcolour"}) {
    EXPECT_TRUE(has(ended.out, words)) << words << " in\n" << ended.out;
  }
  for (const std::string& line : split_lines(ended.out)) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(ended.out.find_first_of("\x1B\x07"), std::string::npos);
}

// JRN-7
TEST_F(Log, Filters) {
  const auto lines = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"log", journal(), "--json"});
    return split_lines(run(command(args)).out).size();
  };
  EXPECT_EQ(lines({}), 8U);
  EXPECT_EQ(lines({"--flow", "nightly"}), 7U);
  EXPECT_EQ(lines({"--flow", "no such"}), 0U);
  EXPECT_EQ(lines({"--kind", "intent"}), 2U);
  EXPECT_EQ(lines({"--kind", "INTENT,ACCESS_DENIED", "--flow", "nightly", "--from", "3"}), 2U);
  EXPECT_EQ(lines({"--since", "1h"}), 8U);
  EXPECT_EQ(lines({"--since", "2999-01-01"}), 0U);
}

// JRN-7, JRN-4: what is exported is what was stored.
TEST_F(Log, ExportsAllOfEachFact) {
  append(journal(), {outcome_success(kOne, "{\"n\":1e400, \"n\":\"\\ud800\"}")});
  const auto lines = split_lines(run(command({"log", journal(), "--json"})).out);
  ASSERT_EQ(lines.size(), 9U);
  EXPECT_TRUE(has(lines[5],
                  R"("kind":"ACCESS_DENIED","payload":{"effect":"sandboxEval","attempt":1,"syscall":"openat",)"
                  R"("object":"/etc/passwd","rule":"landlock"},"checksum":")"))
      << lines[5];
  EXPECT_TRUE(has(lines[8], R"("body":{"n":1e400, "n":"\ud800"},)")) << lines[8];
  const auto head = open(journal(), Access::read).value()->head({}).value();
  EXPECT_TRUE(has(lines[8], head.checksum.hex()));
}

// JRN-7
TEST_F(Log, VerifyGivesTheChecksumOrSaysWhatIsDamaged) {
  const auto head = open(journal(), Access::read).value()->head({}).value();
  const auto whole = run(command({"log", "verify", journal()}));
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_TRUE(has(whole.out, head.checksum.hex())) << whole.out;
  EXPECT_EQ(
      run(command({"log", "verify", journal(), "--json"})).out,
      R"({"facts":8,"bodies":7,"unknownKinds":0,"pruned":0,"sequence":8,"checksum":")" + head.checksum.hex() + "\"}\n");
  run_sql(journal(), "UPDATE fact SET payload = '{}' WHERE sequence = 5");
  expect_failure({"log", "verify", journal()}, 21, {"fact 5", "restore"});
}

// JRN-3, JRN-7
TEST_F(Log, ReplayGivesTheStateOfAFlow) {
  const auto text = run(command({"replay", journal(), "nightly"}));
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* words : {"report.js", "success, fact 8", "1 by the kernel; the newest is fact", "succeeded",
                            "sandboxEval clean/1", "failed"}) {
    EXPECT_TRUE(has(text.out, words)) << words << " in\n" << text.out;
  }
  const auto json = run(command({"replay", journal(), "nightly", "--json"}));
  EXPECT_EQ(json.out,
            R"({"flow":"nightly","name":"report.js","started":1,"ended":8,"ending":"success","input":{"day":"monday"},)"
            R"("result":[3],"denials":{"effect":0,"egress":0,"access":1,"newest":6},"effects":[)"
            R"({"key":"clean/1","effect":"sandboxEval","phase":"succeeded","repeatable":true,"attempts":1,"intent":2,)"
            R"("settledBy":3,"denials":{"effect":0,"egress":0,"access":0,"newest":0},"input":[1,2],"output":3},)"
            R"({"key":"clean/2","effect":"sandboxEval","phase":"failed","repeatable":true,"attempts":1,"intent":5,)"
            R"("settledBy":7,"denials":{"effect":0,"egress":0,"access":1,"newest":6},"input":[],"output":{"line":1}}]})"
            "\n");
  expect_failure({"replay", journal(), "no such\x1B flow"}, 15, {"it has no flow no such  flow", "--flows"});
}

// JRN-1, JRN-10: and every other way in which a journal cannot be had, each with what to do next.
TEST_F(Log, SaysWhatIsWrong) {
  expect_failure({"log", folder_.path("none")}, 15, {"none: no such file", "heddle run --journal makes one"});
  EXPECT_NE(::access(folder_.path("none").c_str(), F_OK), 0) << "reading made a journal";
  expect_failure({"log", folder_.write("text", std::string(5000, 'x'))}, 21, {"text: the file is no journal"});
  expect_failure({"log", folder_.write("empty", "")}, 15, {"empty", "empty-wal too"});
  folder_.write("gone-wal", std::string(5000, 'x'));
  expect_failure({"log", folder_.path("gone")}, 21, {"gone is not there, but its log ", "gone-wal holds facts"});
  EXPECT_EQ(::access(folder_.path("gone-wal").c_str(), F_OK), 0) << "reading deleted a log";
  expect_failure({"log", folder_.path("")}, 15, {"it is a folder"});
  expect_failure({"log", "postgresql://u:secret@127.0.0.1:1/db"}, 15,
                 {"Connection refused", "see that the server runs"});
  const auto named = run(command({"log", "POSTGRESQL://u:secret@127.0.0.1:1/db"}));
  EXPECT_EQ(named.code, 15);
  EXPECT_TRUE(has(named.err, "looks like a connection string") && !has(named.err, "secret")) << named.err;
  run_sql(journal(), "UPDATE journal SET schema = '2.3.4'");
  expect_failure({"log", journal()}, 15, {"2.3.4", kSchema.text().c_str(), "use a newer Heddle"});
  expect_failure({"log", journal(), "--kind", "NOTHING"}, 64, {"the kinds are", "heddle log --help"});
}

constexpr EffectRef kMail{"dunning", "2", "mail", 1};

std::vector<Draft> a_flow_in_doubt() {
  return {flow_started("dunning", "dunning", "null"), intent(kMail, Repeatable::no, {}, R"({"to":"a@b.example"})")};
}

// JRN-11: flows, those that have not ended, and what in them is in doubt.
TEST_F(Log, ListsFlowsAndThoseThatAreOpen) {
  append(journal(), a_flow_in_doubt());
  const auto all = run(command({"log", journal(), "--flows"}));
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* words :
       {"success    nightly", "report.js, 2 effects", "open       other", "other.js, 0 effects", "in doubt   dunning",
        "dunning, 1 effect", "in doubt, unless it is running: mail 2, fact 10"}) {
    EXPECT_TRUE(has(all.out, words)) << words << " in\n" << all.out;
  }
  EXPECT_LT(all.out.find("nightly"), all.out.find("dunning")) << "in the order in which they began";
  const auto open = run(command({"log", "--flows", "--open", journal()}));
  EXPECT_TRUE(has(open.out, "other") && has(open.out, "dunning") && !has(open.out, "nightly")) << open.out;
  for (const std::string& line : split_lines(all.out)) EXPECT_LE(line.size(), 80U) << line;
  const auto json = split_lines(run(command({"log", journal(), "--flows", "--open", "--json"})).out);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_TRUE(has(json[1], R"("flow":"dunning","name":"dunning")")) << json[1];
  EXPECT_TRUE(has(json[1], R"("ended":0,"effects":1,"inDoubt":[{"key":"2","effect":"mail","intent":10}]})")) << json[1];
}

// JRN-11: what an operator says of an effect in doubt is a fact, and settles it once.
TEST_F(Log, ResolvesAnEffectInDoubt) {
  append(journal(), a_flow_in_doubt());
  const auto resolve = [&](std::vector<std::string> words) {
    std::vector<std::string> args{"resolve", journal(), "dunning"};
    args.insert(args.end(), words.begin(), words.end());
    return args;
  };
  expect_failure(resolve({"3", "--failed", "--reason", "x"}), 15,
                 {"effect 3 of the flow dunning", "no such effect", "--flows --open"});
  expect_failure({"resolve", journal(), "none", "2", "--failed", "--reason", "x"}, 15, {"no such flow"});
  expect_failure(resolve({"2", "--done", "{", "--reason", "x"}), 15, {"the body is not JSON"});
  expect_failure(resolve({"2", "--reason", "x"}), 64, {"--done OUTPUT"});
  expect_failure(resolve({"2", "--failed"}), 64, {"--reason is missing"});
  expect_failure(resolve({"2", "--failed", "--run-again", "--reason", "x"}), 64, {"give one of"});
  expect_failure({"resolve", folder_.path("none"), "f", "2", "--failed", "--reason", "x"}, 15, {"no such file"});
  EXPECT_NE(::access(folder_.path("none").c_str(), F_OK), 0) << "resolving made a journal";
  const std::string before = run(command({"log", journal(), "--json"})).out;
  EXPECT_EQ(split_lines(before).size(), 10U) << "what was refused was stored";

  const auto done =
      run(command(resolve({"2", "--done", "{\"id\":7}", "--reason", "it is in the outbox", "--by", "ops"})));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(has(done.out, "fact 11: it was done")) << done.out;
  const std::string last = split_lines(run(command({"log", journal(), "--kind", "RESOLVED", "--json"})).out).at(0);
  EXPECT_TRUE(has(last, R"("resolution":"success","by":"ops","reason":"it is in the outbox")")) << last;
  EXPECT_TRUE(has(last, R"("body":{"id":7})")) << last;
  EXPECT_FALSE(has(run(command({"log", journal(), "--flows"})).out, "in doubt"));
  expect_failure(resolve({"2", "--failed", "--reason", "x"}), 15, {"nothing about it is open"});
}

// JRN-11: old flows lose what they said; what is left says that it was so, and is whole.
TEST_F(Log, PrunesOldFlows) {
  const auto prune = [&](std::vector<std::string> words) {
    std::vector<std::string> args{"log", "prune", journal()};
    args.insert(args.end(), words.begin(), words.end());
    return run(command(args));
  };
  expect_failure({"log", "prune", journal(), "--reason", "x"}, 64, {"--before is missing"});
  expect_failure({"log", "prune", journal(), "--before", "1d"}, 64, {"--reason is missing"});
  expect_failure({"log", "prune", journal(), "--before", "soon", "--reason", "x"}, 64, {"--before soon"});
  EXPECT_EQ(prune({"--before", "1d", "--reason", "x"}).out, "0 facts of 0 flows: nothing to prune\n");
  EXPECT_EQ(prune({"--before", "0s", "--dry-run"}).out, "7 facts of 1 flows would be pruned\n");
  EXPECT_EQ(split_lines(run(command({"log", journal(), "--json"})).out).size(), 8U) << "it wrote something";
  const auto pruned = prune({"--before", "0s", "--reason", "retention", "--by", "ops"});
  EXPECT_EQ(pruned.out, "7 facts of 1 flows pruned, as fact 9 says\n") << pruned.err;
  const auto shown = run(command({"log", journal()}));
  EXPECT_TRUE(has(shown.out, "7 facts of 1 flows pruned by ops: retention")) << shown.out;
  EXPECT_TRUE(has(shown.out, "pruned: what it said is gone") && !has(shown.out, "monday")) << shown.out;
  std::ifstream file(journal(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(has(bytes, "other.js")) << "the control";
  EXPECT_FALSE(has(bytes, "monday")) << "it is in the file still";
  const auto verified = run(command({"log", "verify", journal()}));
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_TRUE(has(verified.out, "pruned    7 of them")) << verified.out;
  expect_failure({"log", "prune", folder_.path("none"), "--before", "1d", "--reason", "x"}, 15, {"no such file"});
}

// JRN-9: a journal that somebody made to harm who looks at it: each command refuses it in one line.
TEST_F(Log, RefusesAJournalThatIsMoreThanAJournal) {
  run_sql(journal(), "CREATE TRIGGER \"t\x1B[31m\" BEFORE INSERT ON fact BEGIN SELECT RAISE(IGNORE); END");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"log", journal()}, {"log", "verify", journal()}, {"replay", journal(), "nightly"}}) {
    expect_failure(args, 21, {"it has trigger t", "which no journal has"});
    EXPECT_EQ(run(command(args)).err.find('\x1B'), std::string::npos);
  }
}

// JRN-1: the format's page is enough for another program, which comes to the same checksum.
TEST_F(Log, AnotherProgramReadsTheFormat) {
  if (::access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no python3 here";
  std::vector<Draft> drafts(kIndexEvery, outcome_success(kOne, "1"));  // so that there is an index, and a rest
  drafts[7].flow = "another";
  append(journal(), drafts);
  append(journal(), {outcome_success(kOne, '"' + std::string(9000, 'x') + '"')});
  const auto read = run({"/usr/bin/python3", {HEDDLE_READ_JOURNAL, journal()}});
  EXPECT_EQ(read.code, 0) << read.err;
  const auto head = open(journal(), Access::read).value()->head({}).value();
  EXPECT_TRUE(has(read.out, "checksum " + head.checksum.hex())) << read.out;
  run_sql(journal(), "UPDATE flow_index SET flow = 'nobody' WHERE flow = 'another'");
  EXPECT_EQ(run({"/usr/bin/python3", {HEDDLE_READ_JOURNAL, journal()}}).code, 1);
  run_sql(journal(), "UPDATE flow_index SET flow = 'another' WHERE flow = 'nobody'");
  EXPECT_EQ(run({"/usr/bin/python3", {HEDDLE_READ_JOURNAL, journal()}}).code, 0);
  ASSERT_EQ(run(command({"log", "prune", journal(), "--before", "0s", "--reason", "x", "--flow", "another"})).code, 0);
  const auto none = run({"/usr/bin/python3", {HEDDLE_READ_JOURNAL, journal()}});
  EXPECT_EQ(none.code, 0) << none.err;
  append(journal(), {flow_ended("another", Ending::success, {}, {}, {})});
  ASSERT_TRUE(has(run(command({"log", "prune", journal(), "--before", "0s", "--reason", "x", "--flow", "another"})).out,
                  "2 facts of 1 flows pruned"));
  const auto pruned = run({"/usr/bin/python3", {HEDDLE_READ_JOURNAL, journal()}});
  EXPECT_EQ(pruned.code, 0) << pruned.err;
  run_sql(journal(), "UPDATE fact SET time = time + 1 WHERE sequence = 5");
  EXPECT_EQ(run({"/usr/bin/python3", {HEDDLE_READ_JOURNAL, journal()}}).code, 1);
}

// JRN-7: who may not write to the file can read it; who may not write to its folder either hears what to do.
TEST_F(Log, ReadsWhatItMayNotWrite) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  ASSERT_EQ(::chmod(journal().c_str(), 0444), 0);
  EXPECT_EQ(run(command({"log", journal()})).code, 0);
  for (const char* beside : {"journal-wal", "journal-shm"}) (void)::unlink(folder_.path(beside).c_str());
  ASSERT_EQ(::chmod(folder_.path("").c_str(), 0555), 0);
  const auto ended = run(command({"log", journal()}));
  ASSERT_EQ(::chmod(folder_.path("").c_str(), 0755), 0);
  EXPECT_EQ(ended.code, 15);
  EXPECT_TRUE(has(ended.err, "use it as its owner, or copy it")) << ended.err;
}

std::string on_terminal(Launch launch) {
  const Terminal terminal;
  launch.out = terminal.stream();
  EXPECT_EQ(run(launch).code, 0);
  return terminal.shown();
}

// JRN-4, JRN-7: colours are ours, for a terminal that wants them; a guest has none.
TEST_F(Log, ColoursOnATerminalAreOurs) {
  Launch launch = command({"log", journal()});
  launch.environment = {"TERM=xterm", "NO_COLOR="};
  std::string text = on_terminal(launch);
  EXPECT_TRUE(has(text, "\x1B[31mACCESS_DENIED\x1B[0m")) << text;
  for (const char* ours : {"\x1B[31m", "\x1B[32m", "\x1B[33m", "\x1B[2m", "\x1B[0m"}) {
    for (std::size_t at = 0; (at = text.find(ours)) != std::string::npos;) text.erase(at, std::strlen(ours));
  }
  EXPECT_EQ(text.find('\x1B'), std::string::npos) << text;
  launch.environment = {"TERM=xterm", "NO_COLOR=1"};
  EXPECT_EQ(on_terminal(launch).find('\x1B'), std::string::npos);
  launch.environment = {"TERM=dumb", "NO_COLOR="};
  EXPECT_EQ(on_terminal(launch).find('\x1B'), std::string::npos);
}

// JRN-7
TEST_F(Log, FollowsUntilCtrlC) {
  Process process(command({"log", journal(), "--follow", "--json", "--kind", "FLOW_ENDED"}));
  EXPECT_TRUE(has(process.line().value_or(""), "\"sequence\":8"));
  for (int i = 9; i < 12; ++i) {
    append(journal(), {flow_ended("nightly", Ending::success, {}, {}, {})});
    EXPECT_TRUE(has(process.line().value_or(""), "\"sequence\":" + std::to_string(i))) << i;
  }
  process.signal(SIGINT);
  const auto ended = process.wait();
  EXPECT_EQ(ended.code, 130);
  EXPECT_EQ(ended.out + ended.err, "");
}

// JRN-7: the reader leaves while nothing is written: nobody would ever notice by writing.
TEST_F(Log, FollowEndsWithItsReader) {
  Process process(command({"log", journal(), "--follow", "--kind", "FLOW_ENDED"}));
  EXPECT_TRUE(process.line().has_value());
  process.close_output();
  const auto ended = process.wait();
  EXPECT_EQ(ended.code, 141);
  EXPECT_EQ(ended.err, "");
}

// JRN-7: a reader that does not read does not keep Ctrl-C from ending it.
TEST_F(Log, CtrlCEndsItBehindAReaderThatDoesNotRead) {
  for (int i = 0; i < 5; ++i)
    append(journal(), std::vector<Draft>(400, outcome_success(kOne, "\"" + std::string(500, 'x') + "\"")));
  Process process(command({"log", journal(), "--json"}));
  EXPECT_TRUE(process.line().has_value());
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().code, 130);
}

TEST_F(Log, StreamsThatCannotBeWritten) {
  Launch full = command({"log", journal()});
  full.out = path_stream("/dev/full");
  EXPECT_EQ(run(full).code, 74);
  Launch closed = command({"log", journal()});
  closed.out = closed_stream();
  const auto ended = run(closed);
  EXPECT_EQ(ended.code, 74);
  EXPECT_TRUE(has(ended.err, "standard output")) << ended.err;
}

class RunJournal : public ::testing::Test {
 protected:
  [[nodiscard]] std::string journal() const { return folder_.path("journal"); }
  [[nodiscard]] Launch script(const std::string& words, std::vector<std::string> args = {}) const {
    args.insert(args.begin(), {"run", folder_.write("job.js", words), "--journal", journal()});
    return {HEDDLE_FAKE_COMMAND, std::move(args)};
  }
  [[nodiscard]] std::vector<Fact> facts() const {
    Query query;
    query.limit = 10'000;
    return open(journal(), Access::read).value()->read(query, {}).value().facts;
  }
  // Until the journal is there, and a run has begun in it.
  void wait_for_a_run() const {
    const auto deadline = core::Deadline::after(kPatience);
    while (!deadline.passed()) {
      const auto store = open(journal(), Access::read);
      if (store.ok() && store.value()->head({}).ok() && store.value()->head({}).value().sequence >= 2) return;
      ::usleep(2000);
    }
    ADD_FAILURE() << "no run began";
  }
  Folder folder_;
};

// JRN-5: a run is facts: what it began with, how it ended, the value as it was printed.
TEST_F(RunJournal, KeepsARun) {
  EXPECT_EQ(run(script("echo", {"--input-json", "[1, 2]"})).out, "[1, 2]\n");
  const auto kept = facts();
  ASSERT_EQ(kept.size(), 4U);
  EXPECT_EQ(kept[0].kind, Kind::flow_started);
  EXPECT_TRUE(has(kept[0].payload, "job.js"));
  EXPECT_EQ(kept[1].kind, Kind::intent);
  EXPECT_TRUE(has(kept[1].payload, "\"script\":\"sha256:" + core::sha256("echo").hex())) << kept[1].payload;
  EXPECT_TRUE(has(kept[1].body->text, "\"input\":\"sha256:" + core::sha256("[1, 2]").hex() + "\",\"inputBytes\":6,"))
      << kept[1].body->text;
  EXPECT_EQ(kept[2].kind, Kind::outcome);
  EXPECT_EQ(kept[2].body->text, "[1, 2]");
  EXPECT_EQ(kept[3].kind, Kind::flow_ended);
  for (const Fact& fact : kept) EXPECT_EQ(fact.flow, kept[0].flow);
}

// JRN-5, SBX-21: each way to end is a fact of its own, and each run a flow of its own.
TEST_F(RunJournal, KeepsEachOutcome) {
  struct Case {
    const char* script;
    const char* payload;
    const char* body;
  };
  const Case cases[] = {{"throw", R"("status":"failure","channel":"scriptError","message":"no \u001b[31mcolour\nhere")",
                         R"({"name":"TypeError","line":3,"column":7})"},
                        {"memory", R"("status":"failure","channel":"limitExceeded")", R"("memory")"},
                        {"toolarge", R"("status":"failure","channel":"inputTooLarge")", "null"},
                        {"lost", R"("status":"error","message":"start the worker: it said nothing")", nullptr},
                        {"refuse", R"("status":"error","message":"start a run: never")", nullptr}};
  std::size_t before = 0;
  for (const Case& one : cases) {
    SCOPED_TRACE(one.script);
    const auto with = run(script(one.script));
    Launch without = script(one.script);
    without.args.resize(2);
    EXPECT_EQ(with.err, run(without).err);
    const auto kept = facts();
    ASSERT_EQ(kept.size(), before + 4);
    const Fact& outcome = kept[before + 2];
    EXPECT_TRUE(has(outcome.payload, one.payload)) << outcome.payload;
    EXPECT_EQ(outcome.body.has_value(), one.body != nullptr);
    if (one.body != nullptr && outcome.body) {
      EXPECT_EQ(outcome.body->text, one.body);
    }
    before += 4;
  }
}

// JRN-8: what confined a run and what the kernel refused it are facts, asked for or not; the outcome object is the
// same.
TEST_F(RunJournal, KeepsDenials) {
  EXPECT_EQ(run(script("denied", {"--json"})).out, "{\"outcome\":\"ok\",\"value\":null,\"ms\":1.234}\n");
  EXPECT_TRUE(has(run(script("denied", {"--json", "--explain"})).out, "\"explain\":"));
  const auto kept = facts();
  ASSERT_EQ(kept.size(), 12U);
  for (const std::size_t at : {2U, 8U}) {
    EXPECT_EQ(kept[at].kind, Kind::jail_applied);
    EXPECT_EQ(kept[at].body->text, R"(["Landlock"])");
    EXPECT_EQ(kept[at + 1].kind, Kind::access_denied);
    EXPECT_TRUE(has(kept[at + 1].payload, R"x("syscall":"openat","object":"/etc/passwd","rule":"no files")x"))
        << kept[at + 1].payload;
    EXPECT_EQ(kept[at + 2].kind, Kind::outcome);
  }
}

// JRN-5: what has been printed is in the journal, even when the command is killed the moment it is read.
TEST_F(RunJournal, NothingIsPrintedBeforeItIsDurable) {
  std::string rows;
  for (int i = 0; i < 2000; ++i) rows += std::to_string(i) + "\n";
  Process process(script("echo", {"--each", folder_.write("rows", rows)}));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(process.line());
  process.signal(SIGKILL);
  const auto ended = process.wait();
  EXPECT_EQ(ended.code, 137);
  const std::size_t printed = 5 + split_lines(ended.out).size();
  std::size_t outcomes = 0;
  for (const Fact& fact : facts()) outcomes += fact.kind == Kind::outcome ? 1 : 0;
  EXPECT_GE(outcomes, printed);
}

TEST_F(RunJournal, KeepsWhatCtrlCCutShort) {
  Process process(script("sleep 60000"));
  process.wait_for_signals();
  wait_for_a_run();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  const auto kept = facts();
  ASSERT_EQ(kept.size(), 4U);
  EXPECT_TRUE(has(kept[2].payload, R"("status":"cancelled")"));
  EXPECT_TRUE(has(kept[3].payload, R"("status":"cancelled")"));
}

// A journal that another process holds is waited for, and Ctrl-C ends that wait: nothing has run and nothing is stored.
TEST_F(RunJournal, CtrlCEndsTheWaitForAJournalThatIsHeld) {
  ASSERT_EQ(run(script("echo")).code, 0);
  const auto before = facts().size();
  sqlite3* holder = nullptr;
  ASSERT_EQ(::sqlite3_open(journal().c_str(), &holder), SQLITE_OK);
  ASSERT_EQ(::sqlite3_exec(holder, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::string rows = folder_.write("rows", "1\n2\n");
  for (const std::vector<std::string>& args : {std::vector<std::string>{}, {"--each", rows}}) {
    Process process(script("echo", args));
    process.wait_for_signals();
    ::usleep(200'000);  // it waits for the lock, most likely; before that it must give the same
    const auto begin = core::Clock::now();
    process.signal(SIGINT);
    const auto ended = process.wait();
    EXPECT_EQ(ended.code, 130);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(has(ended.err, "stopped while waiting for the journal")) << ended.err;
    EXPECT_TRUE(has(ended.err, "another process or thread holds the journal's lock")) << ended.err;
    EXPECT_TRUE(has(ended.err, "nothing was run")) << ended.err;
    EXPECT_LT(core::Clock::now() - begin, std::chrono::seconds(20)) << "it waited for the journal's patience";
  }
  ::sqlite3_close(holder);
  EXPECT_EQ(facts().size(), before);
}

// JRN-5: what cannot be made durable does not run, and what cannot be kept is not told as if it had been.
TEST_F(RunJournal, WithoutAJournalNoRun) {
  Launch nowhere = script("echo");
  nowhere.args[3] = "/no/such/folder/journal";
  const auto ended = run(nowhere);
  EXPECT_EQ(ended.code, 15);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(has(ended.err, "/no/such/folder/journal")) << ended.err;
  Process process(script("sleep 700"));
  wait_for_a_run();
  run_sql(journal(), "UPDATE journal SET schema = '2.0.0'");
  const auto unkept = process.wait();
  EXPECT_EQ(unkept.code, 15);
  EXPECT_EQ(unkept.out, "");
  EXPECT_TRUE(has(unkept.err, "2.0.0")) << unkept.err;
  EXPECT_EQ(run(script("echo", {"--max-output", "65MiB"})).code, 64);
}

// JRN-2, JRN-7: the same commands on a server.
TEST_F(Log, WorksOnPostgres) {
  std::string reason;
  const auto server = journal::testing::PostgresServer::start(reason);
  if (server == nullptr) {
    const char* const required = std::getenv("HEDDLE_REQUIRE");
    ASSERT_FALSE(required != nullptr && std::strstr(required, "postgres") != nullptr) << reason;
    GTEST_SKIP() << "heddle log on PostgreSQL was not tested: " << reason;
  }
  const std::string name = "postgresql:///postgres?" + server->uri_query();
  expect_failure({"log", name}, 15, {"no schema heddle"});
  append(name, some_facts());
  EXPECT_EQ(split_lines(run(command({"log", name, "--json", "--flow", "nightly"})).out).size(), 7U);
  const auto verified = run(command({"log", "verify", name}));
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_EQ(run(command({"replay", name, "nightly", "--json"})).out,
            run(command({"replay", journal(), "nightly", "--json"})).out);
  Process process(command({"log", name, "--follow", "--json", "--from", "8"}));
  EXPECT_TRUE(has(process.line().value_or(""), "\"sequence\":8"));
  append(name, {flow_ended("nightly", Ending::success, {}, {}, {})});
  EXPECT_TRUE(has(process.line().value_or(""), "\"sequence\":9"));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  const auto ran = run({HEDDLE_FAKE_COMMAND, {"run", folder_.write("job.js", "echo"), "--journal", name}});
  EXPECT_EQ(ran.out, "null\n") << ran.err;
  EXPECT_EQ(open(name, Access::read).value()->head({}).value().sequence, 13U);
}

// JRN-6: PostgreSQL's client library is loaded for a journal there, and by nobody else. This one cannot be.
TEST_F(Log, OnlyAJournalInPostgresNeedsItsLibrary) {
  folder_.write("libpq.so.5", std::string(4096, 'x'));
  const auto with_broken_library = [&](std::vector<std::string> args) {
    Launch launch = command(std::move(args));
    launch.environment.push_back("LD_LIBRARY_PATH=" + folder_.path(""));
    return run(launch);
  };
  EXPECT_EQ(with_broken_library({"--version"}).code, 0);
  const Ended ended = with_broken_library({"log", "postgresql://localhost/journal"});
  EXPECT_EQ(ended.code, 15);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(has(ended.err, "libpq.so.5")) << ended.err;
  EXPECT_TRUE(has(ended.err, "install libpq")) << ended.err;
}

}  // namespace
}  // namespace heddle::test
