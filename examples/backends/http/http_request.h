// One HTTP/1.1 request of one connection: what this service needs of the protocol and no more (RFC 9112). Everything is
// bounded before it is kept.
#pragma once

#include <optional>
#include <string>

namespace http_backend {

struct HttpRequest {
  std::string method;
  std::string target;
  std::string body;
};

// Reads a request; nothing when the peer sent something else, too much, or nothing for 30 s.
std::optional<HttpRequest> read_request(int connection);

// Answers and says that the connection closes. False when the peer is gone.
bool write_response(int connection, int status, const std::string& body);

}  // namespace http_backend
