// The command `heddle`, all of it but the choice of where evaluations happen.
#pragma once

#include "heddle/cli/evaluator.h"

namespace heddle::cli {

/// Does what the arguments say on descriptors 0, 1 and 2 and gives the exit code (docs/guide/command.md lists them).
/// Takes over SIGINT, SIGTERM, SIGHUP and SIGPIPE of the process, so it is called once, from main, before there are
/// threads.
[[nodiscard]] int run_program(int argc, char** argv, const EvaluatorFactory& evaluators);

}  // namespace heddle::cli
