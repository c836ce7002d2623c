// Ready-made handles: one that is answered later, from any thread, and one that is answered from the start.
#pragma once

#include <memory>

#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::spi {

class PendingState;

/// The backend's end of a pending evaluation. Copyable, thread-safe.
class HEDDLE_SPI_EXPORT Completion {
 public:
  explicit Completion(std::shared_ptr<PendingState> state);
  Completion(const Completion&);
  Completion(Completion&&) noexcept;
  Completion& operator=(const Completion&);
  Completion& operator=(Completion&&) noexcept;
  ~Completion();

  /// Answers. The first answer counts: false when there was one already or the handle is gone.
  bool complete(Outcome outcome) const;  // NOLINT(modernize-use-nodiscard): whether it counted seldom matters

  /// True once the handle has been destroyed: nobody waits for an answer.
  [[nodiscard]] bool abandoned() const;

 private:
  std::shared_ptr<PendingState> state_;
};

struct Pending {
  std::unique_ptr<Evaluation> evaluation;
  Completion completion;
};

/// A handle without an answer, and the end to answer it with. Where no descriptor can be had (eventfd(2)) the handle is
/// answered at once as `infrastructure`, and the completion leads nowhere.
[[nodiscard]] HEDDLE_SPI_EXPORT Pending pending();

/// A handle that has its answer. Opens no descriptor unless asked for one.
[[nodiscard]] HEDDLE_SPI_EXPORT std::unique_ptr<Evaluation> ready(Outcome outcome);

}  // namespace heddle::sandbox::spi
