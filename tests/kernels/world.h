// What proofs share: where the programs are, guests and what they say, things for an attacker to aim at. No GoogleTest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "claim.h"
#include "heddle/jail/supervisor.h"
#include "heddle/wire/channel.h"

namespace heddle::kernels {

struct Started {
  jail::Guest guest;
  wire::Channel channel;
};

/// One program run, jailed or free, and how the attack in it went.
struct Attempt {
  enum class Result : unsigned char {
    worked,   ///< the attack did what it is for
    refused,  ///< an errno, or the filter's signal
    broken,   ///< the program did not come as far as the attack: proves nothing
  };
  Result result = Result::broken;
  std::string how;  ///< "EACCES", "signal 31", …
};

struct Attack {
  const char* name;            ///< of heddle-test-attacker
  const char* parameter = "";  ///< "./x": in the prey's folder; "PID", "ABSTRACT": this process, its abstract socket
  enum class Control : unsigned char {
    works,    ///< free, it must work
    as_root,  ///< free and as root
    depends,  ///< on the kernel's configuration
  } control = Control::works;
};

class World {
 public:
  World();
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// "5.10", …, or empty on a machine that is none of the table's.
  [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

  [[nodiscard]] core::Result<jail::Supervisor> start_supervisor() const;
  /// A test program as a guest under the profile `script`.
  [[nodiscard]] core::Result<Started> start_guest(jail::Supervisor& supervisor, const std::string& program,
                                                  const std::vector<std::string>& arguments,
                                                  const jail::Limits& limits = {}) const;

  /// Every attack in a jail, at the attacker's `stage` (see tests/support/attacker.cc): `yes` when each was refused
  /// there and its control worked, `refused` when the jail starts no guest on this kernel.
  [[nodiscard]] Finding attacks_refused(const char* stage, const std::vector<Attack>& attacks) const;
  [[nodiscard]] Attempt attack_free(const std::string& name, const std::string& parameter) const;

 private:
  [[nodiscard]] std::string parameter(const std::string& word) const;
  void lay_out_prey() const;
  std::string kernel_;
  std::string folder_;
  core::Fd stream_;
  core::Fd datagrams_;
  core::Fd abstract_;
};

/// The next message, or one named "gone" when there is none. Waits long.
wire::Message next_message(wire::Channel& channel);

/// The Finding for a guest that was not started: `refused` when the error says that this kernel cannot
/// (Errc::unsupported), names a step, and nothing ever came from a guest; else `fail`.
Finding not_started(const core::Error& error);

Finding yes(std::string note = "");
Finding not_enforced(std::string note);
Finding skipped(std::string note);
Finding fail(std::string note);

/// Runs `body` in a forked child and gives its exit status, or -1 when it ended otherwise.
int in_child(const std::function<int()>& body);

}  // namespace heddle::kernels
