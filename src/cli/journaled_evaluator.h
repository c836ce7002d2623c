// An evaluator whose runs are facts in a journal.
#pragma once

#include <memory>

#include "heddle/cli/evaluator.h"
#include "run_journal.h"

namespace heddle::cli {

/// `journal` outlives it. A run whose beginning cannot be made durable does not begin; one whose end cannot is reported
/// as failed, whatever it gave.
[[nodiscard]] std::unique_ptr<Evaluator> journaled(std::unique_ptr<Evaluator> evaluator, RunJournal& journal);

}  // namespace heddle::cli
