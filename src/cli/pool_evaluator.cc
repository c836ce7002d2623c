#include "heddle/cli/pool_evaluator.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "heddle/sandbox/quickjs/pool.h"

namespace heddle::cli {
namespace {

using sandbox::quickjs::Outcome;
using sandbox::quickjs::Pool;
using sandbox::quickjs::PoolOptions;
using sandbox::quickjs::Run;
using sandbox::quickjs::RunRequest;

class PoolEvaluation final : public Evaluation {
 public:
  explicit PoolEvaluation(Run run) : run_(std::move(run)) {}
  [[nodiscard]] int fd() const override { return run_.fd(); }
  [[nodiscard]] std::optional<Outcome> poll() override { return run_.poll(); }

 private:
  Run run_;
};

class PoolEvaluator final : public Evaluator {
 public:
  explicit PoolEvaluator(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
  core::Result<std::unique_ptr<Evaluation>> start(RunRequest request) override {
    HEDDLE_ASSIGN(Run run, pool_->start(std::move(request)));
    return std::unique_ptr<Evaluation>(std::make_unique<PoolEvaluation>(std::move(run)));
  }

 private:
  std::unique_ptr<Pool> pool_;
};

}  // namespace

std::string helper_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || static_cast<std::size_t>(length) == path.size()) return HEDDLE_LIBEXEC_FOLDER;
  std::string folder(path.data(), static_cast<std::size_t>(length));
  for (int up = 0; up < 2; ++up) folder.erase(std::min(folder.size(), folder.rfind('/')));
  folder += "/libexec/heddle";
  struct stat status = {};
  return ::stat(folder.c_str(), &status) == 0 ? folder : HEDDLE_LIBEXEC_FOLDER;
}

core::Result<std::unique_ptr<Evaluator>> make_pool_evaluator(const EvaluatorNeeds& needs) {
  const std::string folder = helper_folder();
  PoolOptions options;
  options.supervisor_path = folder + "/heddle-supervisor";
  options.worker_path = folder + "/heddle-sandbox-worker";
  options.workers = needs.workers;
  options.max_memory_bytes = needs.max_memory_bytes;
  options.max_transfer_bytes = needs.max_transfer_bytes;
  HEDDLE_ASSIGN(auto pool, Pool::create(std::move(options)));
  return std::unique_ptr<Evaluator>(std::make_unique<PoolEvaluator>(std::move(pool)));
}

}  // namespace heddle::cli
