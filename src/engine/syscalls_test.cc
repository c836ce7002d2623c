// What the engine asks of the kernel once it is made: a filter kills for anything else. The worker's own filter is
// tested where the worker is; this list is what it has to allow.
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "fixture.h"

namespace heddle::engine {
namespace {

constexpr int kAllowed[] = {
    SCMP_SYS(getrandom),       // a seed for each run
    SCMP_SYS(clock_gettime),   // where the vDSO does not answer
    SCMP_SYS(rt_sigreturn),    // stops and the restore's faults
    SCMP_SYS(rt_sigprocmask),  // after a jump out of a handler
    SCMP_SYS(sigaltstack),     // the C library's check of a jump out of a handler
    SCMP_SYS(madvise),        SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(exit_group),
};

bool confine() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
  if (filter == nullptr) return false;
  bool done = true;
  for (const int call : kAllowed) done = done && seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) == 0;
  const scmp_arg_cmp not_executable{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0};
  for (const int call : {SCMP_SYS(mprotect), SCMP_SYS(mmap)}) {
    done = done && seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &not_executable) == 0;
  }
  done = done && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return done;
}

constexpr const char* kScripts[] = {
    "1 + 1",
    "Date.now() + Math.random()",
    "function f() { return f() + 1 } f()",
    "let a = []; for (let i = 0; i < 1e5; i++) a.push({i}); a.length",
    "new Uint8Array(3e7).fill(1).length",
    "let a = []; for (;;) a.push(new Array(1000).fill(7))",
    "'x'.repeat(1e6)",
    "throw new Error('x'.repeat(1e6))",
    "Promise.reject(1)",
    "import('std')",
    "JSON.parse('['.repeat(1e6))",
    "for (;;);",
    "'a'.repeat(1 << 25).indexOf('a'.repeat(1 << 24) + 'b')",
};

// What the parent sees of its confined child: the run that is on.
using Shared = std::atomic<std::uint32_t>;

// Exit code of a confined process that runs all of them, several times.
int confined_runs(Shared& current) {
  auto created = Engine::create();
  if (!created.ok()) return 10;
  Engine& engine = *created.value();
  if (!install_stop_signals(engine, kSoft, kHard).ok()) return 11;
  if (!confine()) return 12;
  std::uint32_t id = 0;
  for (int round = 0; round < 2; ++round) {
    for (const char* script : kScripts) {
      current = ++id;
      (void)engine.run(id, script, R"({"a":[1]})", kLimits);
      current = 0;
      if (engine.run(++id, "[typeof leak, 40 + 2]", "null", kLimits).value != R"(["undefined",42])") return 13;
    }
  }
  return 0;
}

// JAIL-4, SBX-19
TEST(SyscallsTest, RunsNeedNoOtherSystemCalls) {
#if defined(HEDDLE_UNDER_ASAN) || defined(HEDDLE_UNDER_TSAN)
  GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  Shared& current = *new (page) Shared(0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(confined_runs(current));
  // A run that is on for more than one of these steps is stopped, whatever it does.
  std::uint32_t before = 0;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    ::usleep(200'000);
    const std::uint32_t now = current;
    if (now != 0 && now == before) {
      sigval value{};
      value.sival_int = static_cast<int>(now);
      (void)::sigqueue(child, kHard, value);
    }
    before = now;
  }
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ::munmap(page, 4096);
}

// The control: the filter is there.
TEST(SyscallsTest, OtherSystemCallsAreFatal) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!confine()) ::_exit(1);
    (void)::getppid();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace heddle::engine
