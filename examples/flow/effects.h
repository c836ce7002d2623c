// What this example does to the world: it reads a file, writes a report, adds a line to a ledger.
#pragma once

#include <string>

#include "heddle/core/result.h"
#include "heddle/effect/core/executor.h"
#include "heddle/effect/runtime/runtime.h"

namespace heddle::example {

/// Says what runs before it does, and waits a moment so that there is time to kill it.
class Announcer final : public effect::Executor {
 public:
  explicit Announcer(std::chrono::milliseconds pause) : pause_(pause) {}
  [[nodiscard]] effect::Reply<std::string> execute(const effect::Effect& effect, std::string_view input_json,
                                                   const effect::Call& call) override;

 private:
  const std::chrono::milliseconds pause_;
};

/// file.read, file.publish, file.append and mail.send.
[[nodiscard]] core::Result<void> add_effects(effect::EffectRuntime& runtime, const std::string& folder,
                                             const std::shared_ptr<effect::Executor>& executor);

}  // namespace heddle::example
