#include "heddle/core/errc.h"

#include "linked.h"

namespace heddle::core {

const char* errc_name(Errc code) noexcept {
  switch (code) {
    case Errc::system:
      return "system";
    case Errc::invalid_argument:
      return "invalid_argument";
    case Errc::protocol:
      return "protocol";
    case Errc::disconnected:
      return "disconnected";
    case Errc::timed_out:
      return "timed_out";
    case Errc::cancelled:
      return "cancelled";
    case Errc::unsupported:
      return "unsupported";
    case Errc::untrusted_program:
      return "untrusted_program";
    case Errc::confinement:
      return "confinement";
    case Errc::start_up:
      return "start_up";
    case Errc::too_large:
      return "too_large";
    case Errc::not_found:
      return "not_found";
    case Errc::malformed:
      return "malformed";
    case Errc::closed:
      return "closed";
    case Errc::exhausted:
      return "exhausted";
    case Errc::damaged:
      return "damaged";
  }
  return "unknown";
}

}  // namespace heddle::core
