#include "heddle/sandbox/eval/sandbox_eval.h"

#include <gtest/gtest.h>

namespace heddle::sandbox {
namespace {

core::Errc refusal(const SandboxEvalOptions& options) {
  const auto made = make_sandbox_eval(std::make_shared<MemoryScripts>(), options);
  return made.ok() ? core::Errc() : made.error().code;
}

// SBX-29: limits that the pool cannot keep are refused where they are written, before anything is started. The control
// gets further: there is no such supervisor.
TEST(SandboxEval, RefusesLimitsThatThePoolCannotKeep) {
  SandboxEvalOptions options;
  options.workers.pool.supervisor_path = options.workers.pool.worker_path = "/nonexistent";
  EXPECT_NE(refusal(options), core::Errc::invalid_argument) << "the control";
  for (int which = 0; which < 4; ++which) {
    SandboxEvalOptions bad = options;
    if (which == 0) bad.effect.memory_bytes = bad.workers.pool.max_memory_bytes + 1;
    if (which == 1) bad.effect.memory_bytes = quickjs::kMinimumMemoryBytes - 1;
    if (which == 2) bad.effect.input_bytes = bad.workers.pool.max_memory_bytes;
    if (which == 3) bad.effect.script_bytes = bad.workers.pool.max_memory_bytes + 1;
    EXPECT_EQ(refusal(bad), core::Errc::invalid_argument) << which;
  }
}

}  // namespace
}  // namespace heddle::sandbox
