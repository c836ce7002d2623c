#include "linear_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace heddle::engine {
namespace {

// A 32-bit address plus a 32-bit offset plus the widest access: generated code checks no bounds and cannot leave this.
constexpr std::uint64_t kReservation = (1ULL << 33) + kWasmPage;
constexpr std::uint64_t kPage = 4096;
// The shadow stack is opened in steps of this many pages.
constexpr std::uint64_t kStackStep = 4;
// Growth up to here keeps its memory between runs (clearing is cheaper than faulting it in again).
constexpr std::uint64_t kKeptGrowth = 4ULL << 20;
// Marks are dropped every so many restores, so that one greedy run does not slow all that follow.
constexpr std::uint32_t kForgetEvery = 256;

// For changes of protection that must not fail: what comes after relies on them.
void protect(std::uint8_t* from, std::uint64_t bytes, int protection) noexcept {
  HEDDLE_CHECK(::mprotect(from, bytes, protection) == 0);
}

bool all_zero(const std::uint8_t* from, std::uint64_t bytes) noexcept {
  return bytes == 0 || (from[0] == 0 && std::memcmp(from, from + 1, bytes - 1) == 0);
}

}  // namespace

LinearMemory::~LinearMemory() {
  if (base_ != nullptr) ::munmap(base_, kReservation);
  if (image_ != nullptr) ::munmap(image_, image_size_);
}

core::Result<void> LinearMemory::reserve() {
  void* base = ::mmap(nullptr, kReservation, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return core::system_error("reserve the engine's memory",
                              "8 GiB of address space are needed: is an address space limit (ulimit -v) set?");
  }
  base_ = static_cast<std::uint8_t*>(base);
  return {};
}

bool LinearMemory::extend(std::uint64_t bytes) noexcept {
  if (bytes == 0) return true;
  if (::mprotect(base_ + size_, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  size_ += bytes;
  return true;
}

core::Result<void> LinearMemory::freeze(std::uint64_t stack_bytes) {
  stack_size_ = std::min(stack_bytes, size_) / kPage * kPage;
  std::memset(base_, 0, stack_size_);
  void* image = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return core::system_error("allocate the engine's image");
  std::memcpy(image, base_, size_);
  if (::mprotect(image, size_, PROT_READ) != 0) {
    const core::Error error = core::system_error("protect the engine's image");
    ::munmap(image, size_);
    return error;
  }
  image_ = static_cast<std::uint8_t*>(image);
  image_size_ = size_;
  open_.assign(image_size_ / kPage, 0);
  opened_.assign(image_size_ / kPage, 0);
  return {};
}

void LinearMemory::arm() noexcept {
  restore();
  armed_ = true;
  close_image();
}

void LinearMemory::close_image() noexcept {
  protect(base_, image_size_, PROT_READ);
  std::fill(open_.begin(), open_.end(), std::uint8_t{0});
  open_count_ = 0;
}

bool LinearMemory::resolve_fault(std::uintptr_t address) noexcept {
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  if (!armed_ || address < base || address - base >= image_size_) return false;
  std::uint64_t first = (address - base) / kPage;
  if (open_[first] != 0) return false;
  std::uint64_t count = 1;
  if (first < stack_size_ / kPage) {
    first = first / kStackStep * kStackStep;
    count = std::min(kStackStep, stack_size_ / kPage - first);
  }
  if (::mprotect(base_ + first * kPage, count * kPage, PROT_READ | PROT_WRITE) != 0) return false;
  for (std::uint64_t page = first; page < first + count; ++page) {
    if (open_[page] != 0) continue;
    open_[page] = 1;
    opened_[open_count_++] = static_cast<std::uint32_t>(page);
  }
  return true;
}

void LinearMemory::clear_growth() noexcept {
  if (size_ == image_size_) return;
  const std::uint64_t grown = size_ - image_size_;
  std::uint8_t* from = base_ + image_size_;
  const std::uint64_t cleared = std::min(grown, kKeptGrowth);
  std::memset(from, 0, cleared);
  if (grown > cleared) HEDDLE_CHECK(::madvise(from + cleared, grown - cleared, MADV_DONTNEED) == 0);
  protect(from, grown, PROT_NONE);
  most_grown_ = std::max(most_grown_, grown);
  size_ = image_size_;
}

void LinearMemory::restore() noexcept {
  clear_growth();
  if (!armed_) {
    std::memcpy(base_, image_, image_size_);
    return;
  }
  for (std::size_t i = 0; i < open_count_; ++i) {
    const std::uint64_t offset = opened_[i] * kPage;
    if (offset < stack_size_) {
      std::memset(base_ + offset, 0, kPage);
    } else {
      std::memcpy(base_ + offset, image_ + offset, kPage);
    }
  }
  if (++restores_ % kForgetEvery == 0) close_image();
}

bool LinearMemory::pristine() const noexcept {
  if (size_ != image_size_ || std::memcmp(base_, image_, image_size_) != 0) return false;
  // What growth left behind is closed; look at all that a run ever had, through a moment's read permission.
  if (most_grown_ == 0) return true;
  protect(base_ + image_size_, most_grown_, PROT_READ);
  const bool clear = all_zero(base_ + image_size_, most_grown_);
  protect(base_ + image_size_, most_grown_, PROT_NONE);
  return clear;
}

bool LinearMemory::covers(std::uintptr_t address) const noexcept {
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  return base_ != nullptr && address >= base && address - base < kReservation;
}

}  // namespace heddle::engine
