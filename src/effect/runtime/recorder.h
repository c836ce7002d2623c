// The witness of one call: keeps what the boundary tells until the call's outcome is recorded.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "heddle/effect/core/witness.h"
#include "heddle/journal/core/facts.h"

namespace heddle::effect {

class Recorder final : public Witness {
 public:
  explicit Recorder(std::size_t most) : most_(most) {}

  void access_denied(AccessDenial denial) override;
  void egress_denied(EgressDenial denial) override;
  void jail_applied(std::string report_json) override;
  void console(std::string lines_json, bool cut) override;

  /// The first denial that ended the guest.
  [[nodiscard]] std::optional<AccessDenial> fatal() const;
  /// Of all that was written to a console.
  [[nodiscard]] std::uint64_t console_bytes() const;
  /// In the order of coming. Empty for most calls, and then nothing was allocated.
  [[nodiscard]] std::vector<journal::Draft> drafts(const journal::EffectRef& ref) const;

 private:
  struct Report {
    std::string json;
  };
  struct Console {
    std::string json;
    bool cut;
  };
  using Note = std::variant<AccessDenial, EgressDenial, Report, Console>;
  void keep_denial(Note note);

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Note> notes_;
  std::size_t denials_ = 0;  // of the notes
  std::size_t last_ = 0;     // where the last of them is
  std::size_t dropped_ = 0;
  std::uint64_t console_bytes_ = 0;
  std::optional<AccessDenial> fatal_;
};

}  // namespace heddle::effect
