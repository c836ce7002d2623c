#include "timed_write.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace heddle::cli {
namespace {

// Repeated, since the first may come before write(2) has begun.
constexpr itimerspec kAnotherSignal{{0, 20'000'000}, {0, 20'000'000}};
constexpr itimerspec kOff{};

// Interrupts write(2) and does nothing else.
void wake(int) {}

std::optional<timer_t> make_timer() {
  struct sigaction action {};
  action.sa_handler = wake;  // without SA_RESTART
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  if (::sigaction(SIGALRM, &action, nullptr) != 0 || ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr) != 0) return {};
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGALRM;
  event._sigev_un._tid = ::gettid();
  timer_t timer{};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return {};
  return timer;
}

}  // namespace

TimedWriter::~TimedWriter() {
  if (timer_) (void)::timer_delete(*timer_);  // fails for no timer of ours
}

ssize_t TimedWriter::write(int fd, const char* bytes, std::size_t size) {
  if (!timer_) timer_ = make_timer();
  if (timer_ && ::timer_settime(*timer_, 0, &kAnotherSignal, nullptr) != 0) return -1;
  const ssize_t wrote = ::write(fd, bytes, size);
  const int error = errno;
  if (timer_) (void)::timer_settime(*timer_, 0, &kOff, nullptr);  // its signal would be harmless
  errno = error == EINTR ? EAGAIN : error;
  return wrote;
}

}  // namespace heddle::cli
