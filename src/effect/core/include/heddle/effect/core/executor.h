// Executor: the place where an effect's handler is called. Bind one to an effect to run it elsewhere, in a jailed
// process say; an effect without one is called directly and pays nothing.
#pragma once

#include <string>
#include <string_view>

#include "heddle/effect/core/effect.h"

namespace heddle::effect {

/// Thread-safe. Replies, exceptions, stop and deadline are those of Effect::execute.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor();

  /// Takes the place of `effect.execute(input_json, call)`. The input has been checked; the output will be.
  [[nodiscard]] virtual Reply<std::string> execute(const Effect& effect, std::string_view input_json,
                                                   const Call& call) = 0;
};

}  // namespace heddle::effect
