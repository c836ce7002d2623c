// A supervisor of another release: answers the handshake with its own version and would serve nothing.
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

int main() {
  char request[4096];
  if (::recv(3, request, sizeof request, 0) <= 0) return 1;
  constexpr std::string_view kReply = R"({"op":"ready","version":"0.0.1"})";
  if (::send(3, kReply.data(), kReply.size(), 0) < 0) return 1;
  return ::recv(3, request, sizeof request, 0) == 0 ? 0 : 1;
}
