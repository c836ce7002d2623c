#include "heddle/journal/core/fact.h"

#include <array>

#include "heddle/core/text.h"
#include "heddle/journal/core/json_text.h"

namespace heddle::journal {
namespace {

struct KindName {
  Kind kind;
  std::string_view name;
};

constexpr std::array<KindName, 10> kKinds{{
    {Kind::flow_started, "FLOW_STARTED"},
    {Kind::flow_ended, "FLOW_ENDED"},
    {Kind::intent, "INTENT"},
    {Kind::outcome, "OUTCOME"},
    {Kind::effect_denied, "EFFECT_DENIED"},
    {Kind::egress_denied, "EGRESS_DENIED"},
    {Kind::access_denied, "ACCESS_DENIED"},
    {Kind::jail_applied, "JAIL_APPLIED"},
    {Kind::resolved, "RESOLVED"},
    {Kind::snapshot, "SNAPSHOT"},
}};

core::Error refused(core::Errc code, std::string_view what) {
  return core::make_error(code, "append to the journal", what);
}

core::Result<void> check_name(std::string_view name, std::string_view what) {
  if (name.size() > kMaxNameBytes) {
    return refused(core::Errc::too_large,
                   std::string(what) + " is longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }
  if (!core::valid_utf8(name) || name.find('\0') != std::string_view::npos) {
    return refused(core::Errc::malformed, std::string(what) + " is not well-formed UTF-8 without NUL");
  }
  return {};
}

// The fixed part of what a checksum covers, and the length before each text, without an allocation.
class Numbers {
 public:
  Numbers& put(std::uint64_t value, int bytes = 8) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
      bytes_[size_++] = static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU);
    }
    return *this;
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 40> bytes_{};
  std::size_t size_ = 0;
};

void add_text(Sha256& sha, std::string_view text) { sha.add(Numbers().put(text.size()).view()).add(text); }

}  // namespace

std::string_view kind_name(Kind kind) noexcept {
  for (const KindName& known : kKinds) {
    if (known.kind == kind) return known.name;
  }
  return "UNKNOWN";
}

Kind kind_from(std::string_view name) noexcept {
  for (const KindName& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  return Kind::unknown;
}

Time now() { return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()); }

core::Result<void> check_draft(const Draft& draft) {
  if (draft.kind == Kind::unknown) return refused(core::Errc::invalid_argument, "a fact needs a kind");
  HEDDLE_TRY(check_name(draft.flow, "the flow's id"));
  HEDDLE_TRY(check_name(draft.effect, "the effect's key"));
  if (draft.payload.size() > kMaxPayloadBytes) {
    return refused(core::Errc::too_large, "the payload is larger than 64 KiB; large values go into the body");
  }
  if (!is_json_object(draft.payload)) return refused(core::Errc::malformed, "the payload is not a JSON object");
  if (draft.body && draft.body->size() > kMaxBodyBytes) {
    return refused(core::Errc::too_large, "the body is larger than 64 MiB");
  }
  if (draft.body && !is_json(*draft.body)) return refused(core::Errc::malformed, "the body is not JSON");
  return {};
}

Digest chain(const Digest& previous, const FactView& fact) {
  Sha256 sha;
  sha.add(previous.raw())
      .add(Numbers()
               .put(fact.sequence)
               .put(fact.ordinal)
               .put(static_cast<std::uint64_t>(fact.time.time_since_epoch().count()))
               .put(fact.schema.major_version, 4)
               .put(fact.schema.minor_version, 4)
               .put(fact.schema.patch_version, 4)
               .view());
  add_text(sha, fact.flow);
  add_text(sha, fact.effect);
  add_text(sha, fact.kind);
  add_text(sha, fact.payload);
  if (fact.body != nullptr) sha.add(fact.body->raw());
  return sha.finish();
}

}  // namespace heddle::journal
