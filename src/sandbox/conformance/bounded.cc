#include "bounded.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "heddle/core/text.h"

namespace heddle::sandbox::conformance {
namespace {

struct Call {
  std::function<void()> body;
  std::mutex mutex;
  std::condition_variable returned;
  bool done = false;
  std::optional<std::string> threw;
};

std::optional<std::string> run(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what() == nullptr ? "an exception without a text" : core::bound_text(error.what(), 500);
  } catch (...) {
    return "something that has no text";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> bounded(const std::string& name, std::chrono::milliseconds timeout,
                                   std::function<void()> call) {
  const auto state = std::make_shared<Call>();
  state->body = std::move(call);
  try {
    std::thread([state] {
      auto threw = run(state->body);
      state->body = nullptr;  // what it holds goes on this thread: its destructors may block too
      const std::lock_guard lock(state->mutex);
      state->threw = std::move(threw);
      state->done = true;
      state->returned.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    return std::string("no thread for ") + name + ": " + error.what();
  }
  std::unique_lock lock(state->mutex);
  if (!state->returned.wait_for(lock, timeout, [&] { return state->done; })) {
    return name + " did not return within " + std::to_string(timeout.count()) + " ms";
  }
  if (state->threw) return name + " threw: " + *state->threw;
  return std::nullopt;
}

}  // namespace heddle::sandbox::conformance
