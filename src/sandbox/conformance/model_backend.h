// The model as a backend: the calls of the interface, which can be broken too.
#pragma once

#include <atomic>
#include <memory>

#include "heddle/sandbox/spi/blocking.h"
#include "model_engine.h"

namespace heddle::sandbox::conformance {

class ModelBackend final : public spi::SandboxBackend {
 public:
  ModelBackend(std::shared_ptr<spi::BlockingEngine> engine, ModelOptions options, int instance);
  ~ModelBackend() override;

  [[nodiscard]] spi::Capabilities capabilities() const override;
  [[nodiscard]] std::unique_ptr<spi::Evaluation> evaluate(spi::Request request) override;
  void warm() override;
  void close() override;

 private:
  [[nodiscard]] bool broken(Break what) const { return options_.broken == what; }
  void wait_for_runs() const;

  const ModelOptions options_;
  const int instance_;
  mutable std::atomic<int> reads_{0};
  spi::BlockingBackend inner_;
};

/// True once release_the_blocked() has been called.
[[nodiscard]] bool released();

}  // namespace heddle::sandbox::conformance
