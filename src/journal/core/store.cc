#include "heddle/journal/core/store.h"

namespace heddle::journal {

std::optional<core::Error> wait_over(const Wait& wait, std::string_view step, std::string_view context) {
  if (wait.stop.stop_requested()) return core::make_error(core::Errc::cancelled, step, context);
  if (wait.deadline.passed()) return core::make_error(core::Errc::timed_out, step, context);
  return std::nullopt;
}

core::Result<std::uint64_t> Store::append_one(const Draft& draft, const Wait& wait) {
  HEDDLE_ASSIGN(const Receipt receipt, append(std::span<const Draft>(&draft, 1), wait));
  return receipt.first;
}

core::Result<std::uint64_t> Store::erase(std::span<const Range> /*ranges*/, const Draft& /*record*/,
                                         const Wait& /*wait*/) {
  return core::make_error(core::Errc::unsupported, "prune the journal", "this kind of journal keeps everything");
}

}  // namespace heddle::journal
