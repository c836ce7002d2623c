#include "http_request.h"

#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <string_view>

namespace http_backend {
namespace {

constexpr std::size_t kMaxHead = 16u << 10u;
constexpr std::size_t kMaxBody = 16u << 20u;
constexpr int kPatienceMs = 30'000;

// False at the end of the stream, on an error, and when nothing comes.
bool read_more(int connection, std::string& text) {
  pollfd entry{connection, POLLIN, 0};
  const int ready = ::poll(&entry, 1, kPatienceMs);
  if (ready < 0 && errno == EINTR) return true;
  if (ready <= 0) return false;
  char buffer[16384];
  const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
  if (got <= 0) return got < 0 && errno == EINTR;
  text.append(buffer, static_cast<std::size_t>(got));
  return true;
}

// The value of Content-Length; nothing when it is not there once, or not a number. Chunked bodies are not taken.
std::optional<std::size_t> content_length(std::string_view head) {
  std::optional<std::size_t> length;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string name(line.substr(0, colon));
    if (::strcasecmp(name.c_str(), "transfer-encoding") == 0) return std::nullopt;
    if (::strcasecmp(name.c_str(), "content-length") != 0) continue;
    line.remove_prefix(colon + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    std::size_t value = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
    if (length || read.ec != std::errc() || read.ptr != line.data() + line.size()) return std::nullopt;
    length = value;
  }
  return length;
}

}  // namespace

std::optional<HttpRequest> read_request(int connection) {
  std::string text;
  std::size_t head_end = std::string::npos;
  while ((head_end = text.find("\r\n\r\n")) == std::string::npos) {
    if (text.size() > kMaxHead || !read_more(connection, text)) return std::nullopt;
  }
  const std::string_view head(text.data(), head_end);
  const std::size_t first_space = head.find(' ');
  const std::size_t second_space = head.find(' ', first_space + 1);
  const std::size_t line_end = head.find("\r\n");
  if (second_space == std::string_view::npos || second_space > line_end) return std::nullopt;
  HttpRequest request;
  request.method = head.substr(0, first_space);
  request.target = head.substr(first_space + 1, second_space - first_space - 1);
  const auto length = content_length(line_end == std::string_view::npos ? "" : head.substr(line_end + 2));
  if (!length || *length > kMaxBody) return std::nullopt;
  request.body = text.substr(head_end + 4);
  while (request.body.size() < *length) {
    if (!read_more(connection, request.body)) return std::nullopt;
  }
  request.body.resize(*length);
  return request;
}

bool write_response(int connection, int status, const std::string& body) {
  const std::string text =
      "HTTP/1.1 " + std::to_string(status) + (status == 200 ? " OK" : " Error") +
      "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\n\r\n" + body;
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t sent = ::send(connection, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace http_backend
