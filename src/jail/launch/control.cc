#include "heddle/jail/launch/control.h"

#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "heddle/jail/launch/group_control.h"

namespace heddle::jail {
namespace {

using core::Errc;

constexpr std::size_t kMaxPacketBytes = 64U << 10;
constexpr std::size_t kMaxPacketDescriptors = kMaxGuestDescriptors + 2;
constexpr std::size_t kMaxWords = 16;

core::Error gone() { return core::make_error(Errc::disconnected, "talk to the other side", "it has ended"); }
core::Error broken(const char* what) { return core::make_error(Errc::protocol, "read a control packet", what); }

std::vector<core::Fd> take_descriptors(msghdr& header) {
  std::vector<core::Fd> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int raw = -1;
      std::memcpy(&raw, CMSG_DATA(part) + i * sizeof raw, sizeof raw);
      descriptors.emplace_back(raw);
    }
  }
  return descriptors;
}

// Three small numbers as one.
std::uint32_t pack(unsigned low, unsigned middle, unsigned high) { return low | middle << 8U | high << 16U; }

void encode_words(wire::Message& message, const std::string& prefix, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) message.set(prefix + std::to_string(i), words[i]);
}

core::Result<std::vector<std::string>> decode_words(wire::Message& message, const std::string& prefix) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kMaxWords && message.has(prefix + std::to_string(i)); ++i) {
    HEDDLE_ASSIGN(std::string word, message.take_string(prefix + std::to_string(i)));
    words.push_back(std::move(word));
  }
  return words;
}

// A number and the space after it.
template <typename Number>
bool read_number(const char*& at, const char* end, Number& number, int base = 10) {
  const auto [next, problem] = std::from_chars(at, end, number, base);
  if (problem != std::errc() || next == end || *next != ' ') return false;
  at = next + 1;
  return true;
}

// Decimal numbers, ascending, a space after each.
bool read_numbers(const std::string& text, std::vector<int>& numbers) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int number = -1;
    if (!read_number(at, end, number) || number < 0 || numbers.size() == kMaxObservedCalls ||
        (!numbers.empty() && numbers.back() >= number))
      return false;
    numbers.push_back(number);
  }
  return true;
}

// A record as words: number, architecture, six arguments, object, whether it was left to Landlock, count, bytes of the
// folder and of the object; all in hexadecimal digits.
std::string as_words(const DenialRecord& record) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  const auto add = [&](std::uint64_t value) {
    char digits[16];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr) += ' ';
  };
  add(static_cast<std::uint32_t>(record.number));
  add(record.architecture);
  for (const std::uint64_t argument : record.arguments) add(argument);
  add(static_cast<std::uint64_t>(record.object));
  add(record.left_to_landlock ? 1U : 0U);
  add(record.count);
  for (const std::string* bytes : {&record.folder, &record.bytes}) {
    for (const char byte : *bytes) {
      const auto value = static_cast<unsigned char>(byte);
      text += kDigits[value >> 4U];
      text += kDigits[value & 15U];
    }
    if (bytes == &record.folder) text += ' ';
  }
  return text;
}

bool from_digits(const char* at, const char* end, std::string& bytes) {
  if ((end - at) % 2 != 0) return false;
  for (; at != end; at += 2) {
    std::uint8_t byte = 0;
    const auto [next, problem] = std::from_chars(at, at + 2, byte, 16);
    if (problem != std::errc() || next != at + 2) return false;
    bytes += static_cast<char>(byte);
  }
  return true;
}

bool from_words(const std::string& text, DenialRecord& record) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](auto& value) { return read_number(at, end, value, 16); };
  std::uint32_t call = 0;
  std::uint8_t object = 0;
  bool whole = number(call) && number(record.architecture);
  for (std::uint64_t& argument : record.arguments) whole = whole && number(argument);
  whole = whole && number(object) && object <= static_cast<std::uint8_t>(DenialRecord::Object::address);
  std::uint8_t left = 0;
  whole = whole && number(left) && left <= 1 && number(record.count);
  if (!whole) return false;
  record.number = static_cast<int>(call);
  record.object = static_cast<DenialRecord::Object>(object);
  record.left_to_landlock = left == 1;
  const char* const space = std::find(at, end, ' ');
  if (space == end) return false;
  return from_digits(at, space, record.folder) && from_digits(space + 1, end, record.bytes);
}

// Resource and value, a space after each.
std::string as_words(const std::vector<ResourceLimit>& limits) {
  std::string text;
  for (const ResourceLimit& limit : limits) {
    text += std::to_string(limit.resource) + ' ' + std::to_string(limit.value) + ' ';
  }
  return text;
}

bool from_words(const std::string& text, std::vector<ResourceLimit>& limits) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    ResourceLimit limit;
    if (limits.size() == RLIM_NLIMITS || !read_number(at, end, limit.resource) || !read_number(at, end, limit.value))
      return false;
    if (limit.resource < 0 || limit.resource >= static_cast<int>(RLIM_NLIMITS)) return false;
    limits.push_back(limit);
  }
  return true;
}

void encode_namespaces(const NamespaceOrder& order, wire::Message& message) {
  message.set("namespaces",
              pack(static_cast<unsigned>(order.need), order.set.bits(), static_cast<unsigned>(order.root)));
}

core::Result<NamespaceOrder> decode_namespaces(wire::Message& message) {
  HEDDLE_ASSIGN(const std::uint64_t order, message.take_number("namespaces", 0xffffff));
  const std::uint64_t need = order & 0xffU;
  const std::uint64_t root = order >> 16U;
  if (need > static_cast<unsigned>(Need::required) || root > static_cast<unsigned>(Root::host)) {
    return broken("a namespace order that is none");
  }
  return NamespaceOrder{static_cast<Need>(need), NamespaceSet(static_cast<std::uint8_t>(order >> 8U)),
                        static_cast<Root>(root)};
}

}  // namespace

void encode_identity(std::optional<std::uint32_t> identity, wire::Message& message) {
  if (identity) message.set("uid", *identity);
}

core::Result<std::optional<std::uint32_t>> decode_identity(wire::Message& message) {
  if (!message.has("uid")) return std::optional<std::uint32_t>();
  HEDDLE_ASSIGN(const std::uint64_t uid, message.take_number("uid", UINT32_MAX - 1));
  return std::optional(static_cast<std::uint32_t>(uid));
}

void encode_deadline(core::Deadline deadline, wire::Message& message) {
  const auto when = std::chrono::nanoseconds(deadline.when().time_since_epoch()).count();
  message.set("deadline", deadline.is_never() ? std::uint64_t{0} : static_cast<std::uint64_t>(std::max(when, 1L)));
}

core::Result<core::Deadline> decode_deadline(wire::Message& message) {
  HEDDLE_ASSIGN(const std::uint64_t when, message.take_number("deadline", INT64_MAX));
  if (when == 0) return core::Deadline::never();
  return core::Deadline::at(core::TimePoint(std::chrono::nanoseconds(when)));
}

core::Result<void> send_packet(const core::Fd& socket, const wire::Message& message,
                               const std::vector<const core::Fd*>& descriptors) {
  std::string text = message.text();
  if (text.size() > kMaxPacketBytes || descriptors.size() > kMaxPacketDescriptors) {
    return core::make_error(Errc::too_large, "send a control packet", std::to_string(text.size()) + " bytes");
  }
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const int raw = descriptors[i]->get();
      std::memcpy(CMSG_DATA(rights) + i * sizeof raw, &raw, sizeof raw);
    }
  }
  for (;;) {
    if (::sendmsg(socket.get(), &header, MSG_NOSIGNAL) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return gone();
    return core::system_error("send a control packet");
  }
}

core::Result<Packet> receive_packet(const core::Fd& socket, core::Deadline deadline, unsigned looks) {
  const auto text = std::make_unique_for_overwrite<char[]>(kMaxPacketBytes);
  for (;;) {
    iovec part{text.get(), kMaxPacketBytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketDescriptors)] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (deadline.passed()) return core::make_error(Errc::timed_out, "wait for a control packet");
      if (looks != 0) {
        --looks;
        (void)::sched_yield();  // never fails on Linux
        continue;
      }
      pollfd item{socket.get(), POLLIN, 0};
      if (::poll(&item, 1, deadline.poll_ms()) < 0 && errno != EINTR) return core::system_error("poll");
      continue;
    }
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return gone();
    if (got < 0) return core::system_error("receive a control packet");
    std::vector<core::Fd> descriptors = take_descriptors(header);
    // The kernel drops descriptors for which this process has no room: EMFILE in another guise.
    if ((header.msg_flags & MSG_CTRUNC) != 0) return broken("descriptors were lost: too many open files");
    if ((header.msg_flags & MSG_TRUNC) != 0) return broken("too long");
    HEDDLE_ASSIGN(wire::Message message,
                  wire::Message::parse(std::string_view(text.get(), static_cast<std::size_t>(got))));
    return Packet{std::move(message), std::move(descriptors)};
  }
}

wire::Message encode_prepare(const PrepareOrder& order) {
  wire::Message message("prepare");
  encode_limits(order.kind.group_limits, message);
  encode_namespaces(order.kind.namespaces, message);
  encode_identity(order.identity, message);
  return message;
}

core::Result<PrepareOrder> decode_prepare(wire::Message message) {
  PrepareOrder order;
  HEDDLE_ASSIGN(order.kind.group_limits, decode_limits(message));
  HEDDLE_ASSIGN(order.kind.namespaces, decode_namespaces(message));
  HEDDLE_ASSIGN(order.identity, decode_identity(message));
  HEDDLE_TRY(message.finish());
  return order;
}

wire::Message encode_spawn(const SpawnPlan& plan) {
  wire::Message message("spawn");
  encode_words(message, "arg.", plan.arguments);
  encode_words(message, "env.", plan.environment);
  message.set("limits", as_words(plan.limits));
  encode_identity(plan.identity, message);
  message.set("notify", static_cast<std::uint64_t>(plan.notify.order)).set("quota", plan.notify.quota);
  std::string observed;
  for (const int number : plan.notify.observed) observed += std::to_string(number) + " ";
  message.set("observed", observed).set("one_program", plan.notify.one_program);
  message.set("held_ids", plan.notify.held_ids).set("births", plan.notify.births);
  encode_limits(plan.group_limits, message);
  message.set("ruleset", plan.ruleset.valid());
  encode_namespaces(plan.namespaces, message);
  encode_deadline(plan.deadline, message);
  return message;
}

core::Result<SpawnPlan> decode_spawn(Packet packet) {
  SpawnPlan plan;
  if (packet.descriptors.empty()) return broken("spawn without a program");
  plan.program = std::move(packet.descriptors.front());
  HEDDLE_ASSIGN(const bool has_ruleset, packet.message.take_bool("ruleset"));
  std::size_t next = 1;
  if (has_ruleset) {
    if (packet.descriptors.size() < 2) return broken("spawn without the ruleset that it names");
    plan.ruleset = std::move(packet.descriptors[next++]);
  }
  for (std::size_t i = next; i < packet.descriptors.size(); ++i) {
    plan.descriptors.push_back(std::move(packet.descriptors[i]));
  }
  HEDDLE_ASSIGN(plan.arguments, decode_words(packet.message, "arg."));
  HEDDLE_ASSIGN(plan.environment, decode_words(packet.message, "env."));
  HEDDLE_ASSIGN(const std::string limits, packet.message.take_string("limits"));
  if (!from_words(limits, plan.limits)) return broken("resource limits that are none");
  HEDDLE_ASSIGN(plan.identity, decode_identity(packet.message));
  HEDDLE_ASSIGN(const std::uint64_t notify, packet.message.take_number("notify", 2));
  plan.notify.order = static_cast<NotifyOrder>(notify);
  HEDDLE_ASSIGN(const std::uint64_t quota, packet.message.take_number("quota", UINT32_MAX));
  plan.notify.quota = static_cast<std::uint32_t>(quota);
  HEDDLE_ASSIGN(const std::string observed, packet.message.take_string("observed"));
  if (!read_numbers(observed, plan.notify.observed)) return broken("a list of system calls that is none");
  HEDDLE_ASSIGN(plan.notify.one_program, packet.message.take_bool("one_program"));
  HEDDLE_ASSIGN(plan.notify.held_ids, packet.message.take_bool("held_ids"));
  HEDDLE_ASSIGN(plan.notify.births, packet.message.take_bool("births"));
  HEDDLE_ASSIGN(plan.group_limits, decode_limits(packet.message));
  HEDDLE_ASSIGN(plan.namespaces, decode_namespaces(packet.message));
  HEDDLE_ASSIGN(plan.deadline, decode_deadline(packet.message));
  HEDDLE_TRY(packet.message.finish());
  return plan;
}

void encode_ending(const Ending& ending, wire::Message& message) {
  message.set("state", static_cast<std::uint64_t>(ending.state));
  message.set("signalled", ending.signalled).set("quota", ending.denial_quota).set("late", ending.timed_out);
  message.set("code", static_cast<std::uint64_t>(ending.code));
  message.set("cpu_us", ending.cpu_microseconds);
  message.set("peak_kib", ending.peak_kib);
  if (ending.group) encode_usage(*ending.group, message);
}

core::Result<Ending> decode_ending(wire::Message& message) {
  Ending ending;
  HEDDLE_ASSIGN(const std::uint64_t state, message.take_number("state", 2));
  ending.state = static_cast<Ending::State>(state);
  HEDDLE_ASSIGN(ending.signalled, message.take_bool("signalled"));
  HEDDLE_ASSIGN(ending.denial_quota, message.take_bool("quota"));
  HEDDLE_ASSIGN(ending.timed_out, message.take_bool("late"));
  HEDDLE_ASSIGN(const std::uint64_t code, message.take_number("code", 255));
  ending.code = static_cast<int>(code);
  HEDDLE_ASSIGN(ending.cpu_microseconds, message.take_number("cpu_us"));
  HEDDLE_ASSIGN(ending.peak_kib, message.take_number("peak_kib"));
  HEDDLE_ASSIGN(ending.group, decode_usage(message));
  HEDDLE_TRY(message.finish());
  return ending;
}

wire::Message encode_notify(const Notifier& notifier) {
  wire::Message message("notify");
  message.set("state", static_cast<std::uint64_t>(notifier.state()));
  message.set("errno", static_cast<std::uint64_t>(notifier.error()));
  return message;
}

core::Result<NotifyReport> decode_notify(wire::Message& message) {
  NotifyReport report;
  HEDDLE_ASSIGN(const std::uint64_t state, message.take_number("state", 3));
  report.state = static_cast<NotifyState>(state);
  HEDDLE_ASSIGN(const std::uint64_t error, message.take_number("errno", 4095));
  report.error = static_cast<int>(error);
  HEDDLE_TRY(message.finish());
  return report;
}

wire::Message encode_denials(DenialLog& log) {
  wire::Message message("denials");
  message.set("total", log.total()).set("dropped", log.dropped()).set("unobserved", log.observed_dropped());
  DenialRecord record;
  for (std::size_t i = 0; i < kDenialsAPacket && log.take(record); ++i) {
    message.set("denial." + std::to_string(i), as_words(record));
  }
  message.set("left", log.waiting());
  return message;
}

core::Result<DenialReport> decode_denials(wire::Message message) {
  DenialReport report;
  HEDDLE_ASSIGN(report.total, message.take_number("total"));
  HEDDLE_ASSIGN(report.dropped, message.take_number("dropped"));
  HEDDLE_ASSIGN(report.observed_dropped, message.take_number("unobserved"));
  HEDDLE_ASSIGN(report.left, message.take_number("left"));
  for (std::size_t i = 0; i < kDenialsAPacket && message.has("denial." + std::to_string(i)); ++i) {
    HEDDLE_ASSIGN(const std::string words, message.take_string("denial." + std::to_string(i)));
    DenialRecord record;
    if (!from_words(words, record)) return broken("a denial that cannot be read");
    report.records.push_back(std::move(record));
  }
  HEDDLE_TRY(message.finish());
  return report;
}

}  // namespace heddle::jail
