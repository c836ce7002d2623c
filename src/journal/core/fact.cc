#include "heddle/journal/core/fact.h"

#include <array>

#include "heddle/core/json.h"
#include "heddle/core/text.h"

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

// What a checksum covers, hashed piece by piece: most of it is a few bytes long, and each call of the hash costs as
// much.
class Covered {
 public:
  Covered& number(std::uint64_t value, unsigned bytes = 8) {
    make_room(bytes);
    for (unsigned left = bytes; left > 0; --left) gathered_[size_++] = static_cast<char>(value >> (left - 1) * 8);
    return *this;
  }
  Covered& bytes(std::string_view bytes) {
    make_room(bytes.size());
    if (bytes.size() > gathered_.size()) {
      sha_.add(bytes);
    } else {
      size_ += bytes.copy(gathered_.data() + size_, bytes.size());
    }
    return *this;
  }
  Covered& text(std::string_view text) { return number(text.size()).bytes(text); }
  Digest finish() {
    make_room(gathered_.size());
    return sha_.finish();
  }

 private:
  void make_room(std::size_t bytes) {
    if (bytes <= gathered_.size() - size_) return;
    sha_.add({gathered_.data(), size_});
    size_ = 0;
  }

  core::Sha256 sha_;
  std::array<char, 512> gathered_;  // its first size_ bytes
  std::size_t size_ = 0;
};

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
  if (!core::is_json_object(draft.payload, kMaxFactDepth))
    return refused(core::Errc::malformed, "the payload is not a JSON object");
  if (draft.body && draft.body->size() > kMaxBodyBytes) {
    return refused(core::Errc::too_large, "the body is larger than 64 MiB");
  }
  if (draft.body && !core::is_json(*draft.body, kMaxFactDepth))
    return refused(core::Errc::malformed, "the body is not JSON");
  return {};
}

Digest chain(const Digest& previous, const FactView& fact) {
  Covered covered;
  covered.bytes(previous.raw())
      .number(fact.sequence)
      .number(fact.ordinal)
      .number(static_cast<std::uint64_t>(fact.time.time_since_epoch().count()))
      .number(fact.schema.major_version, 4)
      .number(fact.schema.minor_version, 4)
      .number(fact.schema.patch_version, 4)
      .text(fact.flow)
      .text(fact.effect)
      .text(fact.kind)
      .text(fact.payload);
  if (fact.body != nullptr) covered.bytes(fact.body->raw());
  return covered.finish();
}

}  // namespace heddle::journal
