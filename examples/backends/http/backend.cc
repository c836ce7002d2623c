// A sandbox backend that asks a service over HTTP. HEDDLE_EVAL_URL says where it is: http://127.0.0.1:8080
#include <curl/curl.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "heddle/sandbox/spi/spi.h"
#include "wire.h"

namespace {

using http_backend::outcome_from_json;
using http_backend::spi::Outcome;
using namespace std::chrono_literals;
namespace spi = http_backend::spi;

constexpr int kAttempts = 3;
constexpr auto kPause = 100ms;      // before a second attempt, twice that before a third
constexpr auto kServiceTime = 10s;  // what the service may take beside the script's own clock
constexpr std::size_t kMaxAnswer = 256u << 20u;

struct Easy {
  CURL* handle = curl_easy_init();
  Easy() = default;
  Easy(const Easy&) = delete;
  Easy& operator=(const Easy&) = delete;
  ~Easy() { curl_easy_cleanup(handle); }
};

struct Multi {
  CURLM* handle = curl_multi_init();
  Multi() = default;
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  ~Multi() { curl_multi_cleanup(handle); }
};

struct Headers {
  curl_slist* list = nullptr;
  void add(const char* line) { list = curl_slist_append(list, line); }
  Headers() = default;
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  ~Headers() { curl_slist_free_all(list); }
};

std::size_t append(char* data, std::size_t one, std::size_t count, void* to) {
  auto& text = *static_cast<std::string*>(to);
  if (text.size() + count > kMaxAnswer) return 0;  // ends the transfer
  text.append(data, one * count);
  return one * count;
}

struct Answer {
  enum class Kind { answered, failed, stopped } kind = Kind::failed;
  std::string text;  // the body, or what failed
};

class Engine final : public spi::BlockingEngine {
 public:
  explicit Engine(std::string url) : url_(std::move(url) + "/v1/evaluate") {}

  // True of the service that is in this folder: every evaluation is a fresh engine in a jailed process, which is killed
  // at the wall clock, and when its caller hangs up. It gives no budget of CPU time of its own.
  [[nodiscard]] spi::Capabilities capabilities() const override {
    spi::Capabilities declared;
    declared.language = "javascript";
    declared.network = spi::Network::none;
    declared.wall_clock = spi::WallClock::hard;
    declared.memory = true;
    declared.fresh_per_run = true;
    return declared;
  }

  // An evaluation is a function of script and input, so one whose answer was lost can be asked for again.
  [[nodiscard]] Outcome run(const spi::Request& request) override {
    const std::string body = http_backend::to_json(request);
    std::string why;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(kPause * attempt);
      if (request.stop.stop_requested()) return Outcome::infrastructure("stopped");
      Answer answer = ask(body, request);
      if (answer.kind == Answer::Kind::stopped) return Outcome::infrastructure("stopped");
      if (answer.kind == Answer::Kind::answered) {
        auto outcome = outcome_from_json(answer.text);
        if (!outcome) return Outcome::infrastructure("the service gave an answer that is none");
        if (outcome->kind != Outcome::Kind::infrastructure) return *std::move(outcome);
        answer.text = outcome->message;
      }
      why = std::move(answer.text);
    }
    return Outcome::infrastructure("the service failed " + std::to_string(kAttempts) + " times: " + why);
  }

 private:
  [[nodiscard]] Answer ask(const std::string& body, const spi::Request& request) const {
    const Easy easy;
    const Multi multi;
    Headers headers;
    headers.add("Content-Type: application/json");
    headers.add("Expect:");
    std::string answer;
    const std::chrono::milliseconds patience = request.limits.wall_clock + kServiceTime;
    curl_easy_setopt(easy.handle, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy.handle, CURLOPT_PROXY, "");
    curl_easy_setopt(easy.handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy.handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy.handle, CURLOPT_HTTPHEADER, headers.list);
    curl_easy_setopt(easy.handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy.handle, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(easy.handle, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
    curl_easy_setopt(easy.handle, CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));
    curl_easy_setopt(easy.handle, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(easy.handle, CURLOPT_WRITEDATA, &answer);
    curl_multi_add_handle(multi.handle, easy.handle);
    Answer result = drive(multi.handle, easy.handle, request.stop, answer);
    curl_multi_remove_handle(multi.handle, easy.handle);
    return result;
  }

  static Answer drive(CURLM* multi, CURL* easy, const std::stop_token& stop, std::string& answer) {
    const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
    for (int running = 1; running > 0;) {
      if (stop.stop_requested())
        return {Answer::Kind::stopped, ""};  // the connection closes, and the service's run ends
      if (curl_multi_perform(multi, &running) != CURLM_OK) return {Answer::Kind::failed, "curl_multi_perform"};
      if (running > 0) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi, &left);
    if (message == nullptr || message->msg != CURLMSG_DONE) return {Answer::Kind::failed, "no result of the transfer"};
    if (message->data.result != CURLE_OK) return {Answer::Kind::failed, curl_easy_strerror(message->data.result)};
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) return {Answer::Kind::failed, "HTTP status " + std::to_string(status)};
    return {Answer::Kind::answered, std::move(answer)};
  }

  const std::string url_;
};

std::unique_ptr<spi::SandboxBackend> make() {
  const char* url = std::getenv("HEDDLE_EVAL_URL");
  if (url == nullptr || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return nullptr;
  spi::BlockingOptions options;
  options.max_threads = 32;
  options.release_wait = 1s;
  return std::make_unique<spi::BlockingBackend>(std::make_shared<Engine>(url), options);
}

}  // namespace

HEDDLE_SANDBOX_BACKEND(make);
