#include "doctor_command.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>

namespace heddle::cli {
namespace {

jail::Machine poor_machine() {
  jail::Machine machine;
  machine.release = "5.10.0-46-cloud-amd64";
  machine.architecture = "x86_64";
  machine.container = "a-container-with-a-name-that-is-a-good-deal-longer-than-any-other";
  machine.landlock_abi = -ENOSYS;
  machine.worker_problem = "landlock_version: \x1b[31m bad \xff bytes " + std::string(300, 'x');
  return machine;
}

// JAIL-13: for a terminal of 80 columns, which a worker's words cannot drive.
TEST(DoctorCommand, TextFitsEightyColumns) {
  const jail::Machine machine = poor_machine();
  std::istringstream text(doctor_text(machine, jail::diagnose(machine)));
  for (std::string line; std::getline(text, line);) {
    EXPECT_TRUE(line.size() <= 80 || line.find(std::string(300, 'x')) != std::string::npos) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

// JAIL-13: each missing layer, its reason and its advice are there.
TEST(DoctorCommand, TextSaysEverything) {
  const jail::Machine machine = poor_machine();
  const jail::Diagnosis diagnosis = jail::diagnose(machine);
  std::string text = doctor_text(machine, diagnosis);
  EXPECT_NE(text.find("do NOT run here"), std::string::npos);
  std::string joined;
  for (const char c : text) {
    if (c != '\n' && (c != ' ' || joined.back() != ' ')) joined += c;
  }
  for (const jail::Layer& layer : diagnosis.layers) {
    EXPECT_NE(text.find(layer.name), std::string::npos) << layer.id;
    if (std::string_view(layer.id) == "worker") continue;
    EXPECT_NE(joined.find(layer.reason.substr(0, 50)), std::string::npos) << layer.id << joined;
  }
}

// JAIL-13: a program reads these keys.
TEST(DoctorCommand, JsonKeysAreStable) {
  const jail::Machine machine = poor_machine();
  const auto object = nlohmann::json::parse(doctor_json(machine, jail::diagnose(machine)));
  EXPECT_EQ(object.size(), 8U);
  for (const char* key : {"heddle", "kernel", "architecture", "root", "container", "outerFilters", "scriptWorker"}) {
    EXPECT_TRUE(object.contains(key)) << key;
  }
  EXPECT_EQ(object["scriptWorker"], "refused");
  std::vector<std::string> ids;
  for (const auto& layer : object["layers"]) {
    ids.push_back(layer["id"]);
    EXPECT_EQ(layer.size(), 7U);
    for (const char* key : {"name", "need", "state", "version", "reason", "advice"}) {
      EXPECT_TRUE(layer.contains(key) && layer[key].is_string()) << key;
    }
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"no_new_privs",
                                           "landlock_files",
                                           "seccomp_filter",
                                           "seccomp_foreign",
                                           "pidfd",
                                           "close_range",
                                           "identity",
                                           "worker",
                                           "landlock_network",
                                           "landlock_scopes",
                                           "mdwe",
                                           "seccomp_notify",
                                           "namespace_user",
                                           "namespace_mount",
                                           "namespace_pid",
                                           "namespace_network",
                                           "namespace_ipc",
                                           "namespace_uts",
                                           "cgroup",
                                           "cgroup_kill"}));
}

TEST(DoctorCommand, ExitCodesSayWhetherScriptsRun) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_doctor({"doctor"}, poor_machine), kExitNotEnforced);
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("MISSING"), std::string::npos);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run_doctor({"doctor", "--jsn"}, poor_machine), 64);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("--jsn"), std::string::npos);
}

}  // namespace
}  // namespace heddle::cli
