#include "pattern.h"

#include <re2/re2.h>

#include <utility>

#include "heddle/core/text.h"

namespace heddle::effect {

struct Pattern::Compiled {
  Compiled(const std::string& translated, const RE2::Options& options) : expression(translated, options) {}
  RE2 expression;
};

Pattern::Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

core::Result<Pattern> Pattern::compile(std::string_view source) {
  const auto refused = [&](const std::string& why) {
    return core::make_error(core::Errc::malformed, "read a regular expression",
                            "the regular expression " + core::bound_text(source, 256) + " " + why);
  };
  if (source.size() > kMaxBytes) return refused("is over " + std::to_string(kMaxBytes) + " bytes");
  auto translated = re2_syntax(source);
  if (!translated.ok()) return refused(translated.error().context);
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMaxMemory);
  auto compiled = std::make_shared<const Compiled>(translated.value(), options);
  const RE2& expression = compiled->expression;
  if (expression.error_code() == RE2::ErrorPatternTooLarge || expression.error_code() == RE2::ErrorRepeatSize) {
    return refused("is too large: shorten it or its repetitions (at most 1000; minLength and maxLength have no bound)");
  }
  if (!expression.ok()) return refused("does not compile: " + expression.error());
  return Pattern(std::move(compiled));
}

bool Pattern::found_in(std::string_view text) const {
  return compiled_->expression.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::UNANCHORED,
                                     nullptr, 0);
}

std::size_t Pattern::program_size() const noexcept {
  return static_cast<std::size_t>(compiled_->expression.ProgramSize());
}

}  // namespace heddle::effect
