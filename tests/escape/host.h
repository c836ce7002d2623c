// What attacks aim at, and what must be whole after them.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "heddle/core/check.h"
#include "heddle/core/fd.h"

namespace heddle::jail {

// A folder with a file, and host sockets that attacks aim at.
class Host {
 public:
  Host() {
    char folder[] = "/tmp/heddle-attack-XXXXXX";
    HEDDLE_CHECK(::mkdtemp(folder) != nullptr);
    folder_ = folder;
    HEDDLE_CHECK(::chmod(folder, 0777) == 0);  // no permission of the file system's may be what refuses
    make_file();
    HEDDLE_CHECK(::mkdir(path("mount").c_str(), 0777) == 0);
    HEDDLE_CHECK(::mkdir(path("granted").c_str(), 0777) == 0 && ::chmod(path("granted").c_str(), 0777) == 0);
    HEDDLE_CHECK(::symlink(path("file").c_str(), path("granted/link").c_str()) == 0);
    std::ofstream(path("granted/inside")) << "inside";
    HEDDLE_CHECK(::chmod(path("granted/inside").c_str(), 0666) == 0);
    listening_ = bound(SOCK_STREAM, path("stream"));
    HEDDLE_CHECK(::listen(listening_.get(), 8) == 0);
    datagrams_ = bound(SOCK_DGRAM, path("datagrams"));
    abstract_ = bound(SOCK_STREAM, abstract());
    HEDDLE_CHECK(::listen(abstract_.get(), 8) == 0);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] static std::string abstract() { return "@heddle-attack-" + std::to_string(::getpid()); }
  void make_file() {
    std::ofstream(path("file")) << "secret";
    HEDDLE_CHECK(::chmod(path("file").c_str(), 0666) == 0);
  }
  [[nodiscard]] bool file_whole() const {
    struct stat info {};
    return ::stat(path("file").c_str(), &info) == 0 && (info.st_mode & 07777U) == 0666 && info.st_size == 6;
  }
  [[nodiscard]] bool nothing_arrived() const {
    char byte = 0;
    return ::recv(datagrams_.get(), &byte, 1, MSG_DONTWAIT) < 0 && ::accept(listening_.get(), nullptr, nullptr) < 0 &&
           ::accept(abstract_.get(), nullptr, nullptr) < 0;
  }
  // Puts a parameter's placeholder into words.
  [[nodiscard]] std::string parameter(const std::string& word) const {
    if (word == "PID") return std::to_string(::getpid());
    if (word == "PGID") return std::to_string(::getpgrp());
    if (word.rfind("/proc/PID/", 0) == 0) return "/proc/" + std::to_string(::getpid()) + word.substr(9);
    if (word == "ABSTRACT") return abstract();
    return word.rfind("./", 0) == 0 ? path(word.substr(2)) : word;
  }

 private:
  static core::Fd bound(int type, const std::string& name) {
    core::Fd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (name[0] == '@') {
      address.sun_path[0] = '\0';
    } else {
      ++size;
    }
    HEDDLE_CHECK(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    if (name[0] != '@') HEDDLE_CHECK(::chmod(name.c_str(), 0666) == 0);
    return fd;
  }
  std::string folder_;
  core::Fd listening_;
  core::Fd datagrams_;
  core::Fd abstract_;
};

}  // namespace heddle::jail
