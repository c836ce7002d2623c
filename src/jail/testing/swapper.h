// Swapper: somebody who turns a symbolic link back and forth while the test looks at what it leads to.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

namespace heddle::jail {

/// Until it is destroyed.
class Swapper {
 public:
  Swapper(std::string link, std::string one, std::string other)
      : link_(std::move(link)), targets_{std::move(one), std::move(other)}, thread_([this] { run(); }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;

 private:
  void run() {
    const std::string next = link_ + ".next";
    for (unsigned turn = 0; !stop_; ++turn) {
      EXPECT_EQ(::symlink(targets_[turn % 2].c_str(), next.c_str()), 0);
      EXPECT_EQ(std::rename(next.c_str(), link_.c_str()), 0);
      ::usleep(turn % 64);  // so that it meets the other side at any place, and leaves it a processor
    }
  }
  const std::string link_;
  const std::string targets_[2];
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace heddle::jail
