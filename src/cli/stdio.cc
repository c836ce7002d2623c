#include "stdio.h"

#include <fcntl.h>

namespace heddle::cli {

core::Result<Stdin> complete_stdio() {
  Stdin input = Stdin::open;
  for (int fd = 0; fd < 3; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    if (fd == 0) input = Stdin::closed;
    // The lowest free number is this one, since those below are open.
    if (::open("/dev/null", O_RDONLY) != fd)  // NOLINT: not CLOEXEC, as 0-2 are
      return core::system_error("open /dev/null for a closed standard stream");
  }
  return input;
}

}  // namespace heddle::cli
