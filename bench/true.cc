// The payload of spawn_bench: a static program that ends at once. "confine": first does to itself what a guest program
// of Heddle's does.
#include <cstring>

#include "heddle/jail/confine/confine.h"

int main(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "confine") != 0) return 0;
  heddle::jail::prepare();
  return heddle::jail::try_confine_self().failure.step == heddle::jail::Step::none ? 0 : 1;
}
