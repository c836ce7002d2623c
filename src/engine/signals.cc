#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "signals.h"
#include "state.h"

namespace heddle::engine {
namespace {

constexpr std::size_t kSignalStack = std::size_t{64} << 10;
constexpr std::size_t kLeastSignalStack = std::size_t{16} << 10;

// Signal handlers get no argument of ours, hence these globals: one engine a process, named before its handlers exist.
std::atomic<Guest*> signalled{nullptr};
// What faults meant before; taken once.
struct sigaction old_segv;
struct sigaction old_bus;
bool old_taken = false;

std::uint32_t run_of(const siginfo_t* info) noexcept { return static_cast<std::uint32_t>(info->si_value.sival_int); }

void on_soft(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (Guest* guest = signalled.load(); guest != nullptr) guest->request_stop(run_of(info));
}

void on_hard(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (Guest* guest = signalled.load(); guest != nullptr) guest->stop_now(run_of(info));
}

void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  const int saved = errno;
  // si_code > 0: the kernel saw an access. A signal that somebody sent is no fault.
  Guest* guest = signalled.load();
  const bool ours =
      guest != nullptr && info->si_code > 0 && guest->fault(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved;
  if (ours) return;
  // The instruction runs again, or the signal comes again, under the action that was there before.
  // Where a filter forbids to set that action, the process ends here instead of faulting for ever.
  if (::sigaction(signal, signal == SIGSEGV ? &old_segv : &old_bus, nullptr) != 0) ::_exit(128 + signal);
  if (info->si_code <= 0) (void)::raise(signal);
}

core::Result<void> install(int signal, void (*handler)(int, siginfo_t*, void*), const sigset_t& mask,
                           struct sigaction* old) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  action.sa_mask = mask;
  if (::sigaction(signal, &action, old) != 0) return core::system_error("install the engine's signal handlers");
  return {};
}

// The thread keeps a signal stack that it has (sanitizers give it one), if it is large enough.
core::Result<void> give_signal_stack() {
  stack_t present{};
  if (::sigaltstack(nullptr, &present) != 0) return core::system_error("look at the signal stack");
  if ((present.ss_flags & SS_DISABLE) == 0 && present.ss_size >= kLeastSignalStack) return {};
  void* stack = ::mmap(nullptr, kSignalStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return core::system_error("allocate the signal stack");
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = kSignalStack;
  if (::sigaltstack(&alternate, nullptr) != 0) return core::system_error("set the signal stack");
  return {};
}

}  // namespace

core::Result<void> install_signals(Guest& guest, int soft_signal, int hard_signal) {
  HEDDLE_CHECK(guest.on_own_thread());
  HEDDLE_CHECK(signalled.load() == nullptr || signalled.load() == &guest);
  HEDDLE_TRY(give_signal_stack());

  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, soft_signal);
  ::sigaddset(&signals, hard_signal);
  ::sigaddset(&signals, SIGSEGV);
  ::sigaddset(&signals, SIGBUS);
  guest.set_jump_signals(signals);
  signalled.store(&guest);
  // While one handler runs the others wait; a jump out of a handler unblocks them. A fault inside a handler ends the
  // process, since the kernel forces a blocked SIGSEGV.
  HEDDLE_TRY(install(soft_signal, on_soft, signals, nullptr));
  HEDDLE_TRY(install(hard_signal, on_hard, signals, nullptr));
  HEDDLE_TRY(install(SIGSEGV, on_fault, signals, old_taken ? nullptr : &old_segv));
  HEDDLE_TRY(install(SIGBUS, on_fault, signals, old_taken ? nullptr : &old_bus));
  old_taken = true;
  guest.memory().arm();
  return {};
}

void forget_signals(const Guest& guest) noexcept {
  if (signalled.load() == &guest) signalled.store(nullptr);
}

core::Result<void> install_stop_signals(Engine& engine, int soft_signal, int hard_signal) {
  return install_signals(engine.state_->guest, soft_signal, hard_signal);
}

}  // namespace heddle::engine
