// heddle-eval-server [PORT]: evaluates JavaScript for whoever can connect to 127.0.0.1:PORT (0: any free one, which it
// prints). Every evaluation runs in a jailed worker process; a caller that hangs up ends its run.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "heddle/sandbox/quickjs/backend.h"
#include "http_request.h"
#include "wire.h"

namespace {

using namespace http_backend;  // NOLINT: an example of one file

constexpr int kMaxConnections = 64;

struct Socket {
  explicit Socket(int raw) : fd(raw) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd >= 0) ::close(fd);
  }
  const int fd;
};

// The outcome, or nothing when the caller hung up first.
std::optional<spi::Outcome> evaluate(spi::SandboxBackend& backend, spi::Request request, int connection) {
  std::stop_source stop;
  request.stop = stop.get_token();
  try {
    const auto run = backend.evaluate(std::move(request));
    for (;;) {
      if (auto outcome = run->take()) return outcome;
      pollfd entries[] = {{run->ready_fd(), POLLIN, 0}, {connection, POLLRDHUP, 0}};
      if (::poll(entries, 2, -1) < 0) continue;
      if (entries[1].revents != 0) {
        stop.request_stop();
        return std::nullopt;  // the handle ends the worker's run
      }
    }
  } catch (const std::exception& error) {
    return spi::Outcome::infrastructure(error.what());
  }
}

void serve(spi::SandboxBackend& backend, int connection) {
  const auto asked = read_request(connection);
  if (!asked) return;
  if (asked->method != "POST" || asked->target != "/v1/evaluate") {
    write_response(connection, 404, "{}");
    return;
  }
  auto request = request_from_json(asked->body);
  if (!request) {
    write_response(connection, 400, "{}");
    return;
  }
  const auto outcome = evaluate(backend, *std::move(request), connection);
  if (outcome) write_response(connection, 200, to_json(*outcome));
}

int listen_on(std::uint16_t port) {
  const int raw = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  ::setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (raw < 0 || ::bind(raw, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(raw, kMaxConnections) != 0 ||
      ::getsockname(raw, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("heddle-eval-server: listen");
    return -1;
  }
  std::printf("http://127.0.0.1:%u\n", static_cast<unsigned>(ntohs(address.sin_port)));
  std::fflush(stdout);
  return raw;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  if (argc > 2 || (argc == 2 && std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), port).ec != std::errc())) {
    std::fputs("heddle-eval-server: usage: heddle-eval-server [PORT]\n", stderr);
    return 64;
  }
  heddle::sandbox::quickjs::WorkerBackendOptions options;
  options.pool.supervisor_path = std::string(HEDDLE_LIBEXEC_DIR) + "/heddle-supervisor";
  options.pool.worker_path = std::string(HEDDLE_LIBEXEC_DIR) + "/heddle-sandbox-worker";
  options.pool.workers = 4;
  auto made = heddle::sandbox::quickjs::make_worker_backend(options);
  if (!made.ok()) {
    std::fprintf(stderr, "heddle-eval-server: %s\n", made.error().message().c_str());
    return 1;
  }
  const std::shared_ptr<spi::SandboxBackend> backend = std::move(made).value();
  const Socket listener(listen_on(port));
  if (listener.fd < 0) return 1;
  static std::atomic<int> connections{0};
  for (;;) {
    const int raw = ::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (raw < 0) continue;
    if (++connections > kMaxConnections) {
      ::close(raw);
      --connections;
      continue;
    }
    std::thread([backend, raw] {
      const Socket connection(raw);
      serve(*backend, connection.fd);
      --connections;
    }).detach();
  }
}
