// BlockingBackend: a backend out of an engine that can only block.
//
// Each run has a thread of its own, from a bounded and counted set. A run that nobody waits for any more and that does
// not come back keeps its thread, and is counted as stuck; when all threads are stuck, further runs are refused at
// once.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::spi {

/// What you write. Kept alive by the backend and by every thread that is still inside run().
class HEDDLE_SPI_EXPORT BlockingEngine {
 public:
  BlockingEngine() = default;
  BlockingEngine(const BlockingEngine&) = delete;
  BlockingEngine& operator=(const BlockingEngine&) = delete;
  virtual ~BlockingEngine();

  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  /// Runs the script to its end, on a thread of its own; called from several at once. Should look at `request.stop`: a
  /// run that returns soon after its stop leaves nothing behind. May throw.
  [[nodiscard]] virtual Outcome run(const Request& request) = 0;

  virtual void warm();
  virtual void close();
};

struct BlockingOptions {
  std::size_t max_threads = 8;  ///< runs at once; further ones wait for a thread; at least 1
  std::chrono::milliseconds release_wait{
      100};  ///< a handle that is given up waits this long for its run to heed the stop
};

struct BlockingStatistics {
  std::size_t running = 0;  ///< threads inside run(), the stuck ones included
  std::size_t stuck = 0;    ///< of them, those that nobody waits for
  std::size_t waiting = 0;  ///< runs without a thread yet
};

class BlockingState;

class HEDDLE_SPI_EXPORT BlockingBackend final : public SandboxBackend {
 public:
  explicit BlockingBackend(std::shared_ptr<BlockingEngine> engine, BlockingOptions options = {});
  /// Does not wait for stuck runs.
  ~BlockingBackend() override;

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] std::unique_ptr<Evaluation> evaluate(Request request) override;
  /// The same on an engine of the run's own, of which only run() is used, within this backend's set of threads.
  [[nodiscard]] std::unique_ptr<Evaluation> evaluate_on(std::shared_ptr<BlockingEngine> engine, Request request);
  void warm() override;
  void close() override;

  [[nodiscard]] BlockingStatistics statistics() const;

 private:
  std::shared_ptr<BlockingState> state_;
};

}  // namespace heddle::sandbox::spi
