#include "heddle/journal/core/fact.h"

#include <algorithm>
#include <array>
#include <utility>

#include "heddle/core/json.h"
#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

struct KindName {
  Kind kind;
  std::string_view name;
};

constexpr std::array<KindName, 12> kKinds{{
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
    {Kind::pruned, "PRUNED"},
    {Kind::console, "CONSOLE"},
}};

core::Error refused(core::Errc code, std::string_view what) {
  return core::make_error(code, "append to the journal", what);
}

// Years 1 to 9999: what every program can show.
constexpr std::int64_t kFirstTime = -62'135'596'800'000'000;
constexpr std::int64_t kLastTime = 253'402'300'799'999'999;

struct Broken {
  core::Errc code;
  std::string what;
};

std::optional<Broken> broken_name(std::string_view name, std::string_view what) {
  if (name.size() > kMaxNameBytes) {
    return Broken{core::Errc::too_large,
                  std::string(what) + " is longer than " + std::to_string(kMaxNameBytes) + " bytes"};
  }
  if (!core::valid_utf8(name) || name.find('\0') != std::string_view::npos) {
    return Broken{core::Errc::malformed, std::string(what) + " is not well-formed UTF-8 without NUL"};
  }
  return std::nullopt;
}

std::optional<Broken> broken_names(std::string_view flow, std::string_view effect) {
  if (auto broken = broken_name(flow, "the flow's id")) return broken;
  return broken_name(effect, "the effect's key");
}

std::optional<Broken> broken_payload(std::string_view payload) {
  if (payload.size() > kMaxPayloadBytes) {
    return Broken{core::Errc::too_large, "the payload is larger than 64 KiB; large values go into the body"};
  }
  if (!core::is_json_object(payload, kMaxFactDepth))
    return Broken{core::Errc::malformed, "the payload is not a JSON object"};
  return std::nullopt;
}

std::optional<Broken> broken_body(std::string_view body) {
  if (body.size() > kMaxBodyBytes) return Broken{core::Errc::too_large, "the body is larger than 64 MiB"};
  if (!core::is_json(body, kMaxFactDepth)) return Broken{core::Errc::malformed, "the body is not JSON"};
  return std::nullopt;
}

bool is_kind_name(std::string_view kind) {
  return !kind.empty() && kind.size() <= kMaxKindBytes && std::all_of(kind.begin(), kind.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

core::Result<void> kept(const std::optional<Broken>& broken) {
  if (broken) return refused(broken->code, broken->what);
  return {};
}

std::optional<std::string> words(std::optional<Broken> broken) {
  if (!broken) return std::nullopt;
  return std::move(broken->what);
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
  HEDDLE_TRY(kept(broken_names(draft.flow, draft.effect)));
  HEDDLE_TRY(kept(broken_payload(draft.payload)));
  if (draft.body) HEDDLE_TRY(kept(broken_body(*draft.body)));
  return {};
}

std::optional<std::string> broken_rule(std::string_view flow, std::string_view effect, std::string_view kind,
                                       Time time) {
  if (auto broken = broken_names(flow, effect)) return words(std::move(broken));
  if (!is_kind_name(kind)) return "its kind is no word of A to Z, 0 to 9 and _";
  const std::int64_t micros = time.time_since_epoch().count();
  if (micros < kFirstTime || micros > kLastTime) return "its time is not between the years 1 and 9999";
  return std::nullopt;
}

std::optional<std::string> broken_rule_of_payload(std::string_view payload) { return words(broken_payload(payload)); }

std::optional<std::string> broken_rule_of_body(std::string_view body) { return words(broken_body(body)); }

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
