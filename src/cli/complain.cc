#include "complain.h"

#include <signal.h>
#include <unistd.h>

#include "heddle/core/text.h"
#include "report.h"
#include "signals.h"

namespace heddle::cli {

std::string complaint(std::string_view line) { return "heddle: " + core::printable_line(line) + "\n"; }

void complain(std::string_view line) { (void)complain_as_is(complaint(line)); }

bool complain_as_is(std::string_view lines) {
  if (lines.empty()) return true;
  sigset_t before;
  const sigset_t cancelling = cancelling_signals();
  (void)::pthread_sigmask(SIG_UNBLOCK, &cancelling, &before);  // fails for no set of these
  Output errors = Output::of(STDERR_FILENO);
  errors.add(lines);
  errors.finish();
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return errors.state() == Output::State::good;
}

core::Error usage(std::string_view what) {
  return core::make_error(core::Errc::invalid_argument, core::printable_line(core::bound_text(what, 300)));
}

int finish(Output& output, int code) {
  output.finish();
  if (output.state() == Output::State::broken_pipe) return kExitBrokenPipe;
  if (output.state() == Output::State::good) return code;
  complain(output.error());
  return kExitOutput;
}

}  // namespace heddle::cli
