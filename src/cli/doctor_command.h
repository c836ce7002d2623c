// `heddle doctor [--json]`: what this machine lets Heddle enforce (docs/guide/doctor.md).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/jail/doctor/doctor.h"

namespace heddle::cli {

/// A layer that a script worker needs is not enforced here.
inline constexpr int kExitNotEnforced = 20;

/// For people, within 80 columns, one line's end last.
[[nodiscard]] std::string doctor_text(const jail::Machine& machine, const jail::Diagnosis& diagnosis);
/// One object, indented, with stable keys; always valid UTF-8.
[[nodiscard]] std::string doctor_json(const jail::Machine& machine, const jail::Diagnosis& diagnosis);

/// `args` begins with "doctor". Writes to descriptor 1, complains on 2, gives the exit code. Call it while the process
/// has one thread.
[[nodiscard]] int run_doctor(const std::vector<std::string>& args, const std::function<jail::Machine()>& probe);

}  // namespace heddle::cli
