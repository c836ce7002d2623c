#include "script.h"

#include <cstring>

#include "bootstrap.h"

namespace heddle::engine {
namespace {

// Bits of qjs_init2: everything but performance (a fine clock), DOMException and atob/btoa (which bring it).
constexpr std::uint32_t kDate = 1;
constexpr std::uint32_t kEval = 2;
constexpr std::uint32_t kRegExp = 4;
constexpr std::uint32_t kJson = 8;
constexpr std::uint32_t kProxy = 16;
constexpr std::uint32_t kMapSet = 32;
constexpr std::uint32_t kTypedArrays = 64;
constexpr std::uint32_t kPromise = 128;
constexpr std::uint32_t kBigInt = 256;
constexpr std::uint32_t kWeakRef = 512;
constexpr std::uint32_t kIntrinsics =
    kDate | kEval | kRegExp | kJson | kProxy | kMapSet | kTypedArrays | kPromise | kBigInt | kWeakRef;

constexpr std::uint32_t kEvalGlobal = 0;
constexpr std::uint32_t kCompileOnly = 32;
constexpr std::uint32_t kPropertyAll = 7;  // configurable, writable, enumerable
constexpr std::uint32_t kScratchSize = 32;
// The part of a context in which its random state is looked for.
constexpr std::uint32_t kContextSize = 1024;

constexpr const char* kTexts[] = {kScriptFile, kOwnFile, "input",  "name",  "message",
                                  "stack",     "cause",  "errors", "length"};
static_assert(sizeof kTexts / sizeof *kTexts == static_cast<std::size_t>(Text::count));

// QuickJS's generator (xorshift64*), as far as its state goes.
constexpr std::uint64_t next_random_state(std::uint64_t x) noexcept {
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  return x;
}

core::Error unusable(std::string_view why) {
  return core::make_error(core::Errc::unsupported, "start the script engine", why);
}

}  // namespace

bool Script::put(std::string_view bytes, std::uint32_t& address) {
  // The engine reads a terminating 0 after a text.
  if (bytes.size() >= 0xffff0000U) {
    guest_.give_up(Exit::memory);
    return false;
  }
  const auto size = static_cast<std::uint32_t>(bytes.size() + 1);
  std::uint32_t place = 0;
  if (!guest_.enter([&] { place = Z_qjsZ_malloc(guest_.instance(), size); })) return false;
  if (place == 0) {
    guest_.give_up(Exit::memory);
    return false;
  }
  address = place;
  const char end = 0;
  return guest_.write(place, bytes.data(), bytes.size()) && guest_.write(place + size - 1, &end, 1);
}

core::Result<void> Script::build() {
  std::uint32_t failed = 1;
  Z_qjs_instance_t* in = guest_.instance();
  const bool made = guest_.enter([&] {
    failed = Z_qjsZ_qjs_init2(in, kIntrinsics);
    runtime_ = Z_qjsZ_qjs_get_runtime_ptr(in);
    context_ = Z_qjsZ_qjs_get_context_ptr(in);
    Z_qjsZ_qjs_set_interrupt_handler(in, 1);
    Z_qjsZ_qjs_set_promise_rejection_handler(in, 1);
    Z_qjsZ_qjs_set_max_stack_size(in, guest_.script_stack());
    scratch_ = Z_qjsZ_malloc(in, kScratchSize);
    global_ = Z_qjsZ_JS_GetGlobalObject(in, context_);
  });
  if (!made || failed != 0 || scratch_ == 0) return unusable("no runtime could be made");
  for (std::size_t i = 0; i < static_cast<std::size_t>(Text::count); ++i) {
    if (!put(kTexts[i], texts_[i])) return unusable("its constants do not fit");
  }

  // The tags above are the ABI of one build of the engine: see that this is the one.
  Value undefined = 0;
  Value object = 0;
  Value text = 0;
  if (!evaluate("undefined", undefined) || !evaluate("({})", object) || !evaluate("'text'", text) ||
      !evaluate("String.prototype.slice", slice_)) {
    return unusable("it does not evaluate");
  }
  if (undefined != kUndefined || tag_of(object) != Tag::object || tag_of(text) != Tag::string ||
      tag_of(slice_) != Tag::object || tag_of(global_) != Tag::object) {
    return unusable("its values have an unknown form");
  }
  HEDDLE_TRY(bootstrap());
  HEDDLE_ASSIGN(const std::uint32_t seed, find_random_state());
  if (!guest_.enter([&] { Z_qjsZ_JS_RunGC(in, runtime_); })) return unusable("its collector failed");
  return guest_.freeze(seed);
}

core::Result<void> Script::bootstrap() {
  Value function = kUndefined;
  if (!evaluate(kBootstrap, Text::own_file, kEvalGlobal, function) || tag_of(function) != Tag::object) {
    return unusable("its bootstrap does not evaluate");
  }
  std::uint32_t name = 0;
  std::uint32_t box = 0;
  constexpr std::uint32_t kArguments = 2;
  if (!put("write", name) ||
      !guest_.enter([&] { box = Z_qjsZ_qjs_new_host_function(guest_.instance(), name, 5, kArguments); })) {
    return unusable("it makes no function for the console");
  }
  Value write = kUndefined;
  Value result = 0;
  const bool called = guest_.load(box, write) && guest_.write(scratch_, &write, sizeof write) && guest_.enter([&] {
    result = Z_qjsZ_JS_Call(guest_.instance(), context_, function, kUndefined, 1, scratch_);
  });
  if (!called || result != kUndefined) return unusable("its bootstrap fails");
  return {};
}

// The C API cannot seed Math.random, so the image would give every run the same numbers. The state is eight bytes of
// the context that one call changes in a known way; there must be exactly one such place.
core::Result<std::uint32_t> Script::find_random_state() {
  std::string before;
  Value number = 0;
  before = guest_.view(context_, kContextSize);
  if (before.empty() || !evaluate("Math.random()", number)) return unusable("Math.random failed");
  const std::string_view after = guest_.view(context_, kContextSize);
  std::uint32_t place = 0;
  for (std::uint32_t offset = 0; offset + 8 <= kContextSize; offset += 8) {
    std::uint64_t was = 0;
    std::uint64_t is = 0;
    std::memcpy(&was, before.data() + offset, sizeof was);
    std::memcpy(&is, after.data() + offset, sizeof is);
    if (was == is || was == 0 || next_random_state(was) != is) continue;
    if (place != 0) return unusable("its random state is ambiguous");
    place = context_ + offset;
  }
  if (place == 0) return unusable("its random state was not found");
  return place;
}

bool Script::set_gc_threshold(std::uint32_t bytes) {
  return guest_.enter([&] { Z_qjsZ_JS_SetGCThreshold(guest_.instance(), runtime_, bytes); });
}

bool Script::evaluate(std::string_view source, Value& result) {
  return evaluate(source, Text::file, kEvalGlobal, result);
}

bool Script::compile(std::string_view source, Value& code) {
  return evaluate(source, Text::file, kEvalGlobal | kCompileOnly, code);
}

bool Script::run_compiled(Value code, Value& result) {
  return guest_.enter([&] { result = Z_qjsZ_JS_EvalFunction(guest_.instance(), context_, code); });
}

bool Script::element(Value object, std::uint32_t index, Value& result) {
  return guest_.enter([&] { result = Z_qjsZ_JS_GetPropertyUint32(guest_.instance(), context_, object, index); });
}

bool Script::evaluate(std::string_view source, Text file_name, std::uint32_t flags, Value& result) {
  std::uint32_t place = 0;
  if (!put(source, place)) return false;
  const auto size = static_cast<std::uint32_t>(source.size());
  const std::uint32_t file = texts_[static_cast<std::size_t>(file_name)];
  return guest_.enter([&] { result = Z_qjsZ_JS_Eval(guest_.instance(), context_, place, size, file, flags); });
}

bool Script::parse_json(std::string_view text, Value& result) {
  std::uint32_t place = 0;
  if (!put(text, place)) return false;
  const auto size = static_cast<std::uint32_t>(text.size());
  const std::uint32_t file = texts_[static_cast<std::size_t>(Text::input)];
  return guest_.enter([&] {
    result = Z_qjsZ_JS_ParseJSON(guest_.instance(), context_, place, size, file);
    Z_qjsZ_free(guest_.instance(), place);
  });
}

bool Script::define_input(Value value) {
  std::uint32_t done = 0;
  const std::uint32_t name = texts_[static_cast<std::size_t>(Text::input)];
  return guest_.enter([&] {
    done = Z_qjsZ_JS_DefinePropertyValueStr(guest_.instance(), context_, global_, name, value, kPropertyAll);
  }) && done == 1;
}

bool Script::run_job(std::int32_t& executed) {
  return guest_.enter([&] {
    executed = static_cast<std::int32_t>(Z_qjsZ_JS_ExecutePendingJob(guest_.instance(), runtime_, scratch_));
  });
}

bool Script::promise_state(Value value, PromiseState& state) {
  state = PromiseState::none;
  if (tag_of(value) != Tag::object) return true;
  std::uint32_t promise = 0;
  std::uint32_t answer = 0;
  const bool done = guest_.enter([&] {
    promise = Z_qjsZ_JS_IsPromise(guest_.instance(), value);
    answer = Z_qjsZ_JS_PromiseState(guest_.instance(), context_, value);
  });
  if (!done) return false;
  if (promise == 0) return true;
  switch (answer) {
    case 0:
      state = PromiseState::pending;
      return true;
    case 1:
      state = PromiseState::fulfilled;
      return true;
    case 2:
      state = PromiseState::rejected;
      return true;
    default:
      guest_.give_up(Exit::corrupt);
      return false;
  }
}

bool Script::promise_result(Value promise, Value& result) {
  return guest_.enter([&] { result = Z_qjsZ_JS_PromiseResult(guest_.instance(), context_, promise); });
}

bool Script::stringify(Value value, Value& text) {
  return guest_.enter(
      [&] { text = Z_qjsZ_JS_JSONStringify(guest_.instance(), context_, value, kUndefined, kUndefined); });
}

bool Script::take_exception(Value& thrown) {
  return guest_.enter([&] { thrown = Z_qjsZ_JS_GetException(guest_.instance(), context_); });
}

bool Script::is_error(Value value, bool& answer) {
  std::uint32_t is = 0;
  if (!guest_.enter([&] { is = Z_qjsZ_JS_IsError(guest_.instance(), value); })) return false;
  answer = is != 0;
  return true;
}

bool Script::is_function(Value value, bool& answer) {
  std::uint32_t is = 0;
  if (!guest_.enter([&] { is = Z_qjsZ_JS_IsFunction(guest_.instance(), context_, value); })) return false;
  answer = is != 0;
  return true;
}

bool Script::property(Value object, Text name, Value& result) {
  const std::uint32_t place = texts_[static_cast<std::size_t>(name)];
  return guest_.enter([&] { result = Z_qjsZ_JS_GetPropertyStr(guest_.instance(), context_, object, place); });
}

bool Script::to_text(Value value, Value& result) {
  return guest_.enter([&] { result = Z_qjsZ_JS_ToString(guest_.instance(), context_, value); });
}

bool Script::length(Value text, std::uint64_t& units) {
  std::uint32_t failed = 1;
  if (!guest_.enter([&] { failed = Z_qjsZ_JS_GetLength(guest_.instance(), context_, text, scratch_); })) return false;
  if (failed != 0) {
    guest_.give_up(Exit::corrupt);
    return false;
  }
  return guest_.load(scratch_, units);
}

bool Script::head(Value text, std::uint32_t units, Value& result) {
  const Value arguments[2] = {0, units};  // the integers 0 and `units`
  static_assert(sizeof arguments <= kScratchSize);
  return guest_.write(scratch_, arguments, sizeof arguments) &&
         guest_.enter([&] { result = Z_qjsZ_JS_Call(guest_.instance(), context_, slice_, text, 2, scratch_); });
}

bool Script::utf8(Value text, std::string_view& bytes) {
  std::uint32_t place = 0;
  if (!guest_.enter([&] { place = Z_qjsZ_JS_ToCStringLen2(guest_.instance(), context_, scratch_, text, 0); })) {
    return false;
  }
  std::uint32_t size = 0;
  if (place == 0 || !guest_.load(scratch_, size)) return false;
  bytes = guest_.view(place, size);
  return guest_.exit() == Exit::none;
}

}  // namespace heddle::engine
