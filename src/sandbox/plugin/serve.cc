#include "heddle/sandbox/plugin/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "heddle/core/text.h"
#include "parcel.h"
#include "post.h"
#include "spawn.h"

namespace heddle::sandbox::plugin {
namespace {

std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what() == nullptr ? "it threw an exception without a text" : error.what();
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text == nullptr ? "it threw something that has no text" : text;
  } catch (...) {
    return "it threw something that has no text";
  }
}

// The backend of this process, and the calls that are in it. Lives as long as the process.
class Server {
 public:
  explicit Server(core::Result<BackendFactory> factory) : factory_(std::move(factory)) {}

  // Until the host hangs up.
  void run(const core::Fd& calls) {
    for (;;) {
      auto received = receive_knock(calls);
      if (!received.ok()) return;
      Received& one = received.value();
      if (one.knock.kind == Knock::Kind::stop) {
        stop(one.knock.id);
      } else if (one.socket.valid()) {
        begin(one.knock.id, std::move(one.socket));
      }
    }
  }

 private:
  // Callbacks on a stop are the backend's code and may block, so they have a thread of their own.
  void stop(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = stops_.find(id);
    if (found == stops_.end()) return;
    try {
      std::thread([source = found->second]() mutable { source.request_stop(); }).detach();
    } catch (const std::system_error&) {
      found->second.request_stop();
    }
  }

  void begin(std::uint64_t id, core::Fd socket) {
    auto post = Post::adopt(std::move(socket));
    if (!post.ok()) return;
    const std::stop_source source;
    {
      const std::lock_guard lock(mutex_);
      stops_.emplace(id, source);
    }
    try {
      // A call that cannot have a thread is broken off: its connection closes.
      std::thread([this, id, source, post = std::move(post).value()]() mutable {
        serve(post, source);
        const std::lock_guard lock(mutex_);
        stops_.erase(id);
      }).detach();
    } catch (const std::system_error&) {
      const std::lock_guard lock(mutex_);
      stops_.erase(id);
    }
  }

  static void answer(Post& post, std::string_view word, std::string_view body = {}) {
    [[maybe_unused]] const auto sent = post.send(word, body, core::Deadline::never());
  }

  void serve(Post& post, const std::stop_source& stop) {
    auto asked = post.receive(core::Deadline::never());
    if (!asked.ok()) return;
    const std::string word = asked.value().word;
    try {
      if (word == "make") {
        make(post);
        return;
      }
      if (word == "its destructor") {
        destroy(post);
        return;
      }
      auto backend = now();
      if (backend == nullptr) {
        answer(post, "threw", "the backend is gone");
      } else if (word == "capabilities()") {
        answer(post, "capabilities", pack_capabilities(backend->capabilities()));
      } else if (word == "warm()") {
        backend->warm();
        answer(post, "returned");
      } else if (word == "close()") {
        backend->close();
        answer(post, "returned");
      } else if (word == "evaluate()") {
        evaluate(post, std::move(backend), asked.value().body, stop);
      }
    } catch (...) {
      answer(post, "threw", text_of(std::current_exception()));
    }
  }

  void make(Post& post) {
    if (!factory_.ok()) {
      answer(post, "threw", factory_.error().message());
      return;
    }
    auto made = factory_.value()();
    if (made == nullptr) {
      answer(post, "threw", "it gave no backend");
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      backend_ = std::move(made);
    }
    answer(post, "returned");
  }

  void destroy(Post& post) {
    std::shared_ptr<spi::SandboxBackend> last;
    {
      const std::lock_guard lock(mutex_);
      last.swap(backend_);
    }
    last.reset();
    answer(post, "returned");
  }

  [[nodiscard]] std::shared_ptr<spi::SandboxBackend> now() {
    const std::lock_guard lock(mutex_);
    return backend_;
  }

  static void evaluate(Post& post, std::shared_ptr<spi::SandboxBackend> backend, const std::string& body,
                       const std::stop_source& stop) {
    auto request = unpack_request(body);
    if (!request.ok()) return;
    request.value().stop = stop.get_token();
    auto evaluation = backend->evaluate(std::move(request).value());
    backend.reset();  // handles do not depend on it: its destructor is nobody's but the host's to delay
    if (evaluation == nullptr) {
      answer(post, "null");
      return;
    }
    const int ready = evaluation->ready_fd();
    const bool pollable = ready >= 0 && ::fcntl(ready, F_GETFD) >= 0;
    answer(post, "started", pollable ? "pollable" : "");
    attend(post, *evaluation, pollable ? ready : -1);
    evaluation.reset();
    answer(post, "dropped");
  }

  // Announces each time that the handle is readable, and takes when the host does, until the host gives it up.
  static void attend(Post& post, spi::Evaluation& evaluation, int ready) {
    bool announced = false;
    for (;;) {
      auto letter = post.try_receive();
      if (!letter.ok()) return;
      if (letter.value()) {
        if (letter.value()->word != "take()") return;
        try {
          auto outcome = evaluation.take();
          answer(post, outcome ? "outcome" : "pending", outcome ? pack_outcome(*outcome) : std::string());
        } catch (...) {
          answer(post, "threw", text_of(std::current_exception()));
        }
        announced = false;
        continue;
      }
      std::array<pollfd, 2> entries{{{post.fd(), POLLIN, 0}, {announced ? -1 : ready, POLLIN, 0}}};
      if (::poll(entries.data(), entries.size(), -1) < 0) continue;
      if (entries[1].revents != 0 && entries[0].revents == 0) {
        answer(post, "ready");
        announced = true;
      }
    }
  }

  const core::Result<BackendFactory> factory_;
  std::mutex mutex_;
  std::shared_ptr<spi::SandboxBackend> backend_;
  std::map<std::uint64_t, std::stop_source> stops_;
};

int serve(core::Result<BackendFactory> factory) {
  const core::Fd calls(kCallsFd);
  if (::fcntl(kCallsFd, F_SETFD, FD_CLOEXEC) != 0) return 1;
  // Threads that are still in the backend go on using it until the process is gone.
  auto* server = new Server(std::move(factory));  // NOLINT(cppcoreguidelines-owning-memory)
  server->run(calls);
  return 0;  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the line above says why
}

}  // namespace

int serve_backend() {
  const core::Fd memory(kMemoryFd);
  if (::fcntl(kMemoryFd, F_SETFD, FD_CLOEXEC) != 0) return 1;
  return serve(load_backend(memory, "the shared object"));
}

int serve_backend(const BackendFactory& factory) { return serve(factory); }

}  // namespace heddle::sandbox::plugin
