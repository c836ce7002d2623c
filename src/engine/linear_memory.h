// The linear memory of the engine: a reservation with guard pages, an image of its first state, and a restore that
// copies only what a run can have changed.
//
// How the restore knows: image pages are write-protected, the first write to one faults, the fault handler opens the
// page and marks it. Marked pages stay open and are copied at every restore until all marks are dropped again, which
// happens every kForgetEvery runs. Nothing is believed about where the engine keeps its data; a hostile run can make
// restores slower, never incomplete. Without the fault handler (`arm` was not called) the whole image is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/core/result.h"

namespace heddle::engine {

inline constexpr std::uint32_t kWasmPage = 65536;

/// Not thread-safe; `resolve_fault` is async-signal-safe on the thread that uses the memory.
class LinearMemory {
 public:
  LinearMemory() = default;
  ~LinearMemory();
  LinearMemory(const LinearMemory&) = delete;
  LinearMemory& operator=(const LinearMemory&) = delete;

  [[nodiscard]] core::Result<void> reserve();

  /// Opens `bytes` more at the end; false when the kernel refuses.
  [[nodiscard]] bool extend(std::uint64_t bytes) noexcept;

  /// Takes what is there as the image. `stack_bytes` at the bottom are the shadow stack, which is empty now: what past
  /// calls left there is cleared. It is opened in larger steps than the rest.
  [[nodiscard]] core::Result<void> freeze(std::uint64_t stack_bytes);

  /// From now on the caller's fault handler calls `resolve_fault`.
  void arm() noexcept;

  /// True when the fault was the first write to an image page; the write can be tried again.
  [[nodiscard]] bool resolve_fault(std::uintptr_t address) noexcept;

  /// Every byte is as it was at `freeze`, what lies past the image is closed and zero.
  void restore() noexcept;

  /// Compares; for tests.
  [[nodiscard]] bool pristine() const noexcept;

  /// True for an address in the reservation, guard pages included.
  [[nodiscard]] bool covers(std::uintptr_t address) const noexcept;

  [[nodiscard]] std::uint8_t* data() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t image_size() const noexcept { return image_size_; }
  /// Image pages that restore copies at present.
  [[nodiscard]] std::size_t open_pages() const noexcept { return open_count_; }

 private:
  void close_image() noexcept;
  void clear_growth() noexcept;

  std::uint8_t* base_ = nullptr;
  std::uint64_t size_ = 0;  // open to reads; always whole wasm pages
  std::uint8_t* image_ = nullptr;
  std::uint64_t image_size_ = 0;
  std::uint64_t stack_size_ = 0;
  std::uint64_t most_grown_ = 0;  // bytes past the image that a run has had, for pristine()
  bool armed_ = false;
  std::uint32_t restores_ = 0;
  std::vector<std::uint8_t> open_;     // one a page of the image
  std::vector<std::uint32_t> opened_;  // their numbers, the first open_count_ of them
  std::size_t open_count_ = 0;
};

}  // namespace heddle::engine
