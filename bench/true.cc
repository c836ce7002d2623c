// The payload of spawn_bench: a static program that ends at once. "confine": first does to itself what a guest program
// of Heddle's does, by the same code.
#include "heddle/jail/confine/confine.h"

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] != 'c') return 0;
  return heddle::jail::try_confine_self().failure.step == heddle::jail::Step::none ? 0 : 1;
}
