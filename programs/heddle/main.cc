// heddle: see docs/guide/command.md.
#include "heddle/cli/command.h"
#include "heddle/cli/effect_evaluator.h"
#include "heddle/cli/kit_command.h"

int main(int argc, char** argv) {
  if (const auto code = heddle::cli::run_kit_command(argc, argv)) return *code;
  return heddle::cli::run_program(argc, argv, heddle::cli::make_effect_evaluator);
}
