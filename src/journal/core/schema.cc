#include "heddle/journal/core/schema.h"

#include <charconv>

#include "heddle/core/text.h"

namespace heddle::journal {
namespace {

// A decimal number as `text()` writes it, taken off the front.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const char* const begin = text.data();
  const auto [end, failed] = std::from_chars(begin, begin + text.size(), value);
  const auto length = static_cast<std::size_t>(end - begin);
  if (failed != std::errc() || length == 0 || (text[0] == '0' && length > 1)) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

bool take_dot(std::string_view& text) {
  if (text.empty() || text[0] != '.') return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string SchemaVersion::text() const {
  return std::to_string(major_version) + '.' + std::to_string(minor_version) + '.' + std::to_string(patch_version);
}

std::optional<SchemaVersion> SchemaVersion::parse(std::string_view text) {
  const auto major_number = take_number(text);
  if (!major_number || !take_dot(text)) return std::nullopt;
  const auto minor_number = take_number(text);
  if (!minor_number || !take_dot(text)) return std::nullopt;
  const auto patch_number = take_number(text);
  if (!patch_number || !text.empty()) return std::nullopt;
  return SchemaVersion{*major_number, *minor_number, *patch_number};
}

core::Result<SchemaVersion> readable_schema(std::string_view found) {
  const auto version = SchemaVersion::parse(found);
  if (!version || version->major_version == 0) {
    return core::make_error(core::Errc::damaged, "read the journal's schema version",
                            "\"" + core::printable_line(core::bound_text(found, 40)) + "\" is no version");
  }
  if (version->major_version > kSchema.major_version) {
    return core::make_error(core::Errc::unsupported, "read the journal",
                            "it has facts of schema " + version->text() + " and this program reads up to schema " +
                                std::to_string(kSchema.major_version) + ".x (it writes " + kSchema.text() +
                                "); use a newer Heddle");
  }
  return *version;
}

core::Error made_before_release(std::string_view name) {
  return core::make_error(core::Errc::unsupported, "open the journal",
                          std::string(name) +
                              ": a build of Heddle from before the first release made it, and its tables differ; read "
                              "it with that build (heddle log --json keeps all of it), and begin a new journal");
}

}  // namespace heddle::journal
