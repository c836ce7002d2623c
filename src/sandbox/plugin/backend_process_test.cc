#include "heddle/sandbox/plugin/backend_process.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "heddle/sandbox/plugin/serve.h"
#include "heddle/sandbox/spi/pending.h"
#include "heddle/wire/decoder.h"
#include "heddle/wire/message.h"
#include "post.h"
#include "spawn.h"

namespace heddle::sandbox::plugin {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string open_descriptors() {
  std::string list;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder)) list += std::to_string(fd) + " ";
  }
  ::closedir(folder);
  return list;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

class HangsInItsDestructor final : public spi::Evaluation {
 public:
  ~HangsInItsDestructor() override { hang(); }
  [[nodiscard]] int ready_fd() const noexcept override { return 1; }
  [[nodiscard]] std::optional<spi::Outcome> take() override { return std::nullopt; }
};

class HangsInTake final : public spi::Evaluation {
 public:
  [[nodiscard]] int ready_fd() const noexcept override { return -1; }
  [[nodiscard]] std::optional<spi::Outcome> take() override { hang(); }
};

// A backend whose scripts say what it does.
class Backend final : public spi::SandboxBackend {
 public:
  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities capabilities;
    capabilities.language = "words";
    capabilities.memory = true;
    return capabilities;
  }
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override {
    const std::string& script = request.script;
    if (script == "echo") return spi::ready(spi::Outcome::ok(request.input_json));
    if (script == "descriptors") return spi::ready(spi::Outcome::ok("\"" + open_descriptors() + "\""));
    if (script == "throw") throw std::logic_error("no such word");
    if (script == "throw text") throw std::string("a text");
    if (script == "null") return nullptr;
    if (script == "abort") std::abort();
    if (script == "exit") ::_exit(3);
    if (script == "hang") hang();
    if (script == "hang in take") return std::make_unique<HangsInTake>();
    if (script == "hang in its destructor") return std::make_unique<HangsInItsDestructor>();
    if (script == "block until the stop") {
      while (!request.stop.stop_requested()) ::poll(nullptr, 0, 1);
      return spi::ready(spi::Outcome::infrastructure("stopped"));
    }
    auto pending = spi::pending();  // "later": answered when it is stopped
    std::thread([stop = request.stop, completion = pending.completion] {
      while (!stop.stop_requested() && !completion.abandoned()) ::poll(nullptr, 0, 1);
      completion.complete(spi::Outcome::infrastructure("stopped"));
    }).detach();
    return std::move(pending.evaluation);
  }
  void warm() override { throw std::runtime_error("cannot be warmed"); }
};

std::shared_ptr<BackendProcess> start(milliseconds call_timeout = seconds(60)) {
  return BackendProcess::start({"/proc/self/exe", {"--serve"}}, nullptr, {seconds(60), call_timeout}).value();
}

spi::Request request(const std::string& script, const std::stop_token& stop = {}) {
  return {script, "[1,\"\\u00e9\"]", {}, false, stop};
}

spi::Outcome outcome_of(spi::Evaluation& evaluation) {
  for (;;) {
    if (auto outcome = evaluation.take()) return *std::move(outcome);
    pollfd entry{evaluation.ready_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&entry, 1, 60'000), 1);
  }
}

template <class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

// CNF-10: the calls of the interface, made in another process.
TEST(BackendProcess, IsABackend) {
  const auto backend = start();
  EXPECT_NE(backend->pid(), ::getpid());
  EXPECT_EQ(backend->capabilities().language, "words");
  EXPECT_TRUE(backend->capabilities().memory);
  const auto evaluation = backend->evaluate(request("echo"));
  const auto outcome = outcome_of(*evaluation);
  EXPECT_EQ(outcome.kind, spi::Outcome::Kind::ok);
  EXPECT_EQ(outcome.value_json, "[1,\"\\u00e9\"]");
  EXPECT_EQ(backend->evaluate(request("null")), nullptr);
  backend->close();
  EXPECT_TRUE(backend->finish().ok());
}

// CNF-10: bodies of many frames, both ways.
TEST(BackendProcess, CarriesMuch) {
  const auto backend = start();
  spi::Request large = request("echo");
  large.input_json = "\"" + std::string(std::size_t{5} << 20, 'x') + "\"";
  const auto evaluation = backend->evaluate(large);
  EXPECT_EQ(outcome_of(*evaluation).value_json, large.input_json);
}

// CNF-9: what is thrown over there is thrown here, with its text.
TEST(BackendProcess, ThrowsWhatTheBackendThrows) {
  const auto backend = start();
  EXPECT_EQ(thrown_by([&] { (void)backend->evaluate(request("throw")); }), "no such word");
  EXPECT_EQ(thrown_by([&] { (void)backend->evaluate(request("throw text")); }), "a text");
  EXPECT_EQ(thrown_by([&] { backend->warm(); }), "cannot be warmed");
  EXPECT_EQ(outcome_of(*backend->evaluate(request("echo"))).kind, spi::Outcome::Kind::ok);
}

// CNF-9: a stop arrives at a run that was started, and at one whose evaluate() has not returned.
TEST(BackendProcess, CarriesTheStop) {
  const auto backend = start();
  std::stop_source stop;
  const auto evaluation = backend->evaluate(request("later", stop.get_token()));
  EXPECT_FALSE(evaluation->take().has_value());
  stop.request_stop();
  EXPECT_EQ(outcome_of(*evaluation).message, "stopped");

  std::stop_source second;
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(100));
    second.request_stop();
  });
  const auto blocked = backend->evaluate(request("block until the stop", second.get_token()));
  stopper.join();
  EXPECT_EQ(outcome_of(*blocked).message, "stopped");
}

// CNF-9: a backend that ends its process ends that one; how is told, then and in each later call.
TEST(BackendProcess, TellsHowItEnded) {
  const auto aborted = start();
  EXPECT_NE(thrown_by([&] { (void)aborted->evaluate(request("abort")); }).find("ended by signal 6"), std::string::npos);
  EXPECT_NE(thrown_by([&] { (void)aborted->capabilities(); }).find("ended by signal 6"), std::string::npos);
  EXPECT_FALSE(aborted->finish().ok());
  const auto left = start();
  const auto running = left->evaluate(request("later"));
  EXPECT_NE(thrown_by([&] { (void)left->evaluate(request("exit")); }).find("ended with exit code 3"),
            std::string::npos);
  EXPECT_NE(thrown_by([&] { (void)running->take(); }).find("ended with exit code 3"), std::string::npos);
}

// CNF-9, SBX-24: no call blocks the host for longer than its time-out; the process is ended then.
TEST(BackendProcess, EndsWhatDoesNotReturn) {
  const auto in_evaluate = start(milliseconds(500));
  EXPECT_NE(thrown_by([&] { (void)in_evaluate->evaluate(request("hang")); }).find("did not return from evaluate()"),
            std::string::npos);
  EXPECT_NE(thrown_by([&] { (void)in_evaluate->capabilities(); }).find("ended by signal 9"), std::string::npos);
  const auto in_take = start(milliseconds(500));
  const auto evaluation = in_take->evaluate(request("hang in take"));
  EXPECT_EQ(evaluation->ready_fd(), -1);  // as over there
  EXPECT_NE(thrown_by([&] { (void)evaluation->take(); }).find("did not return from take()"), std::string::npos);
  const auto in_destructor = start(milliseconds(500));
  auto dropped = in_destructor->evaluate(request("hang in its destructor"));
  dropped.reset();
  EXPECT_NE(thrown_by([&] { (void)in_destructor->capabilities(); }).find("ended by signal 9"), std::string::npos);
}

// CNF-10: the backend has no descriptor of the host's, numbers that were handed over by mistake among them.
TEST(BackendProcess, HandsOnNoDescriptor) {
  const int leaked = ::dup2(STDERR_FILENO, 77);  // not close-on-exec
  const auto backend = start();
  ::close(leaked);
  const std::string list = outcome_of(*backend->evaluate(request("descriptors"))).value_json.value();
  EXPECT_EQ(list.find("77"), std::string::npos) << list;
  EXPECT_EQ(list.rfind("\"0 1 2 3 ", 0), 0U) << list;
}

// CNF-9: a process that is gone before it has a backend says what happened to it.
TEST(BackendProcess, SaysWhyThereIsNone) {
  const auto none = BackendProcess::start({"/proc/self/exe", {"--serve-nothing"}}, nullptr);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("it gave no backend"), std::string::npos);
  const auto absent = BackendProcess::start({"/proc/self/exe", {"--leave"}}, nullptr);
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.error().message().find("ended with exit code 9"), std::string::npos) << absent.error().message();
  EXPECT_FALSE(BackendProcess::start({"/nowhere/at/all", {}}, nullptr).ok());
}

// CNF-10: what a process sends is not believed: no frame, a length that cannot be, letters without end. It is ended,
// and the host has an error.
TEST(BackendProcess, BelievesNoBytes) {
  for (const char* kind : {"junk", "huge", "flood", "silence", "half"}) {
    const auto begin = core::Clock::now();
    const auto started =
        BackendProcess::start({"/proc/self/exe", {"--serve-junk", kind}}, nullptr, {seconds(3), seconds(3)});
    EXPECT_FALSE(started.ok()) << kind;
    EXPECT_LT(core::Clock::now() - begin, seconds(60)) << kind;
  }
  // A control: the same far side that answers as it should.
  EXPECT_TRUE(BackendProcess::start({"/proc/self/exe", {"--serve-junk", "good"}}, nullptr).ok());
}

// CNF-10: a file is read once; what was read is what is there, whatever the file becomes.
TEST(BackendFile, KeepsWhatItHashed) {
  std::string path = testing::TempDir() + "/backend-file-XXXXXX";
  const core::Fd draft(::mkstemp(path.data()));
  ASSERT_TRUE(core::write_all(draft, "first").ok());
  const auto file = BackendFile::open(path).value();
  ASSERT_EQ(::ftruncate(draft.get(), 0), 0);
  ASSERT_TRUE(core::write_all(draft, "second").ok());
  EXPECT_EQ(file.bytes().value(), "first");
  EXPECT_EQ(file.address(), effect::ContentAddress::of("first"));
  EXPECT_LT(::write(file.memory().get(), "x", 1), 0);
  ::unlink(path.c_str());
  EXPECT_FALSE(BackendFile::open(path).ok());
  EXPECT_FALSE(BackendFile::open("/dev/null").ok());
  EXPECT_FALSE(load_backend(file).ok());  // no shared object
}

}  // namespace
}  // namespace heddle::sandbox::plugin

namespace {

// A far side that answers the first call with what its kind says, and stays.
[[noreturn]] void serve_junk(std::string_view kind) {
  using namespace heddle::sandbox::plugin;
  const heddle::core::Fd calls(kCallsFd);
  auto knock = receive_knock(calls).value();
  const int raw = knock.socket.get();
  const auto never = heddle::core::Deadline::never();
  const auto put = [raw](std::string_view bytes) { return ::send(raw, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0; };
  if (kind == "junk") put(std::string(100, '\xFF'));
  if (kind == "half") put(std::string(3, '\0'));
  auto post = Post::adopt(std::move(knock.socket)).value();
  if (kind == "good") (void)post.send("returned", "", never);
  if (kind == "huge") {
    const auto channel = heddle::wire::Message("returned").set("bytes", ~std::uint64_t{0}).text();
    put(heddle::wire::encode_header(heddle::wire::FrameType::control, static_cast<std::uint32_t>(channel.size()), 0) +
        channel);
  }
  while (kind == "flood" && post.send("ready", "", never).ok()) {
  }
  for (;;) ::pause();
}

}  // namespace

// The test program is its own far side.
int main(int argc, char** argv) {
  using heddle::sandbox::plugin::serve_backend;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--leave") return 9;
  if (first == "--serve-junk") serve_junk(argc > 2 ? argv[2] : "");
  if (first == "--serve-nothing") ::_exit(serve_backend([] { return nullptr; }));
  if (first == "--serve") {
    ::_exit(serve_backend([] { return std::make_shared<heddle::sandbox::plugin::Backend>(); }));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
