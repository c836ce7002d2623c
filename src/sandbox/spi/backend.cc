#include "heddle/sandbox/spi/backend.h"

namespace heddle::sandbox::spi {

Evaluation::~Evaluation() = default;
SandboxBackend::~SandboxBackend() = default;
void SandboxBackend::warm() {}
void SandboxBackend::close() {}

}  // namespace heddle::sandbox::spi
