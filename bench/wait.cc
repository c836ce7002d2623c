// The payload of memory_bench: a static program that says with one byte on its channel that it is up, and waits until
// the channel closes. "confine": first does to itself what a guest program of Heddle's does.
#include <unistd.h>

#include <cstring>

#include "heddle/jail/confine/confine.h"

int main(int argc, char** argv) {
  using namespace heddle;
  if (argc > 1 && std::strcmp(argv[1], "confine") == 0) {
    jail::prepare();
    if (jail::try_confine_self().failure.step != jail::Step::none) return 1;
  }
  char byte = 'u';
  if (::write(jail::kChannelFd, &byte, 1) != 1) return 2;
  while (::read(jail::kChannelFd, &byte, 1) > 0) {
  }
  return 0;
}
