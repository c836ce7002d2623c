// A program run by a test: its streams, its signals, its end. Everything waits with a deadline and says when it passed.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/clock.h"
#include "heddle/core/fd.h"

namespace heddle::test {

inline constexpr auto kPatience = std::chrono::seconds(60);

/// How many runs show that memory stays bounded. Fewer under AddressSanitizer: its quarantine keeps what was freed, so
/// that memory cannot be compared there, and every run goes through the same code.
#ifdef HEDDLE_UNDER_ASAN
inline constexpr int kManyRuns = 10'000;
#else
inline constexpr int kManyRuns = 100'000;
#endif

struct Stream {
  enum class Kind { pipe, closed, path, given } kind = Kind::pipe;
  std::string path = {};  ///< of Kind::path
  int fd = -1;            ///< of Kind::given: the test's own
};
inline Stream pipe_stream() { return {}; }
inline Stream closed_stream() { return {Stream::Kind::closed}; }
inline Stream path_stream(std::string path) { return {Stream::Kind::path, std::move(path)}; }
inline Stream given_stream(int fd) { return {Stream::Kind::given, {}, fd}; }

struct Launch {
  std::string program;
  std::vector<std::string> args;
  Stream in = {};
  Stream out = {};
  Stream err = {};
  std::vector<std::string> environment = {};
};

struct Ended {
  int code = -1;  ///< exit code, or 128 + signal, as a shell has it
  std::string out;
  std::string err;
};

/// A pseudo-terminal of the test's own.
class Terminal {
 public:
  Terminal();
  /// The program's side of it.
  [[nodiscard]] Stream stream() const { return given_stream(theirs_.get()); }
  /// As its keyboard.
  void type(std::string_view text) const;
  /// What stands there by now.
  [[nodiscard]] std::string shown() const;

 private:
  core::Fd ours_;
  core::Fd theirs_;
};

/// Killed and reaped when it is destroyed.
class Process {
 public:
  explicit Process(const Launch& launch);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Until the command takes SIGINT itself; before that it ends as any program does.
  void wait_for_signals() const;
  /// All of it, while the program reads.
  void write(std::string_view text);
  void close_input() { in_.reset(); }
  void close_output() { out_.reset(); }
  /// The next line of standard output without its end; nothing when the stream ended or patience did.
  [[nodiscard]] std::optional<std::string> line();
  /// A number of /proc/PID/status, such as VmRSS in KiB.
  [[nodiscard]] long status(std::string_view field, int base = 10) const;
  /// Ends the input, reads both streams to their end, and waits.
  [[nodiscard]] Ended finish();
  /// The same with standard input left as it is.
  [[nodiscard]] Ended wait();

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  core::Fd in_;
  core::Fd out_;
  core::Fd err_;
  std::string buffer_;  // of standard output
};

/// A whole life: `input` in, streams out.
[[nodiscard]] Ended run(const Launch& launch, std::string_view input = {});

[[nodiscard]] std::vector<std::string> split_lines(std::string_view text);

/// A folder of the test's own, removed with what is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path(std::string_view name) const;
  /// Gives the path.
  std::string write(std::string_view name, std::string_view text) const;  // NOLINT(modernize-use-nodiscard)

 private:
  std::string path_;
};

}  // namespace heddle::test
