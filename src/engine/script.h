// QuickJS's C API as far as a run needs it. Every call goes through Guest::enter; false means that the run is over and
// `Guest::exit` says why. Values are never freed: the restore before the next run takes all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "guest.h"

namespace heddle::engine {

/// A JSValue: NaN-boxed on 32 bits, the tag in the upper half.
using Value = std::uint64_t;

enum class Tag : std::int32_t {
  big_int = -9,
  symbol = -8,
  string = -7,
  string_rope = -6,
  object = -1,
  integer = 0,
  boolean = 1,
  null = 2,
  undefined = 3,
  exception = 6,
  short_big_int = 7,
};

[[nodiscard]] constexpr Tag tag_of(Value value) noexcept {
  return static_cast<Tag>(static_cast<std::int32_t>(value >> 32));
}
[[nodiscard]] constexpr bool is_string(Value value) noexcept {
  return tag_of(value) == Tag::string || tag_of(value) == Tag::string_rope;
}
inline constexpr Value kUndefined = Value{static_cast<std::uint32_t>(Tag::undefined)} << 32;

enum class PromiseState : std::uint8_t { none, pending, fulfilled, rejected };

/// Property names and such that lie in the image as C strings.
enum class Text : std::uint8_t { file, own_file, input, name, message, stack, cause, errors, length, count };
inline constexpr const char* kScriptFile = "script.js";
/// Of what the image is made with, so that no position in it is taken for one in the script.
inline constexpr const char* kOwnFile = "heddle";

class Script {
 public:
  explicit Script(Guest& guest) noexcept : guest_(guest) {}

  /// Makes runtime and context in a fresh instance, and freezes the guest.
  [[nodiscard]] core::Result<void> build();

  [[nodiscard]] bool set_gc_threshold(std::uint32_t bytes);
  [[nodiscard]] bool evaluate(std::string_view source, Value& result);
  /// `code` is what run_compiled() takes, or an exception: the script does not parse, and nothing of it has run.
  [[nodiscard]] bool compile(std::string_view source, Value& code);
  [[nodiscard]] bool run_compiled(Value code, Value& result);
  [[nodiscard]] bool parse_json(std::string_view text, Value& result);
  [[nodiscard]] bool define_input(Value value);
  /// `executed` > 0: a job ran; 0: none was left; < 0: it threw.
  [[nodiscard]] bool run_job(std::int32_t& executed);
  [[nodiscard]] bool promise_state(Value value, PromiseState& state);
  [[nodiscard]] bool promise_result(Value promise, Value& result);
  /// `text` is a string, undefined when there is nothing to write, or an exception.
  [[nodiscard]] bool stringify(Value value, Value& text);
  [[nodiscard]] bool take_exception(Value& thrown);
  [[nodiscard]] bool is_error(Value value, bool& answer);
  [[nodiscard]] bool is_function(Value value, bool& answer);
  /// May run the script's getters; `result` may be an exception.
  [[nodiscard]] bool property(Value object, Text name, Value& result);
  [[nodiscard]] bool element(Value object, std::uint32_t index, Value& result);
  /// For primitives other than symbols: harmless.
  [[nodiscard]] bool to_text(Value value, Value& result);

  /// UTF-16 units of a string value.
  [[nodiscard]] bool length(Value text, std::uint64_t& units);
  /// The first units of a string value, by the engine's own slice.
  [[nodiscard]] bool head(Value text, std::uint32_t units, Value& result);
  /// UTF-8 of a string value, lone surrogates encoded as if they were characters; a view into the linear memory that
  /// the next call ends. False with Exit::none when the engine could not make it.
  [[nodiscard]] bool utf8(Value text, std::string_view& bytes);

 private:
  [[nodiscard]] bool put(std::string_view bytes, std::uint32_t& address);
  [[nodiscard]] bool evaluate(std::string_view source, Text file, std::uint32_t flags, Value& result);
  [[nodiscard]] core::Result<void> bootstrap();
  [[nodiscard]] core::Result<std::uint32_t> find_random_state();

  Guest& guest_;
  std::uint32_t runtime_ = 0;
  std::uint32_t context_ = 0;
  std::uint32_t scratch_ = 0;  // 32 bytes
  std::uint32_t texts_[static_cast<std::size_t>(Text::count)] = {};
  Value slice_ = kUndefined;  // String.prototype.slice as it was at first
  Value global_ = kUndefined;
};

}  // namespace heddle::engine
