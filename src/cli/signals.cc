#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace heddle::cli {

sigset_t cancelling_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

core::Result<Signals> Signals::install() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What the parent had ignored stays ignored: nohup(1) and a shell's background jobs rely on it.
    struct sigaction current = {};
    if (::sigaction(signal, nullptr, &current) != 0) return core::system_error("sigaction");
    if (current.sa_handler != SIG_IGN) sigaddset(&wanted, signal);
  }
  sigset_t before;
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &wanted, &before); error != 0)
    return core::system_error(error, "pthread_sigmask");
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction pipe = {};
  if (::sigaction(SIGPIPE, &ignore, &pipe) != 0) return core::system_error("sigaction");
  core::Fd fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return core::system_error("signalfd");
  return Signals(std::move(fd), before, pipe);
}

Signals::~Signals() {
  if (!fd_.valid()) return;
  fd_.reset();
  (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  (void)::sigaction(SIGPIPE, &pipe_, nullptr);
}

bool Signals::take() {
  signalfd_siginfo info = {};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return false;
  release();
  return true;
}

void Signals::release() {
  const sigset_t ours = cancelling_signals();
  (void)::pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
}

}  // namespace heddle::cli
