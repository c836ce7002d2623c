#include "complain.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "heddle/core/text.h"
#include "report.h"
#include "wrap.h"

namespace heddle::cli {

void complain(std::string_view line) { complain_as_is("heddle: " + shown_text(line) + "\n"); }

void complain_as_is(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t wrote = ::write(STDERR_FILENO, lines.data(), lines.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    lines.remove_prefix(static_cast<std::size_t>(wrote));
  }
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
