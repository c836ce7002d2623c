// A backend in a shared object: loaded, proven in a process of its own, or looked at without running any of it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/fd.h"
#include "heddle/core/result.h"
#include "heddle/sandbox/conformance/conformance.h"

namespace heddle::sandbox::conformance {

/// Loads a backend's shared object into this process, for good: its code may still run on threads of its own.
/// Errc::malformed when it is none, Errc::unsupported for another version of the interface.
[[nodiscard]] core::Result<BackendFactory> load_backend(const std::string& path);

/// How the program that contains this library is called again as the child that does load_backend: `program` with
/// `arguments` and the path of the shared object as the last one. The child calls serve_child().
struct ChildCommand {
  std::string program;
  std::vector<std::string> arguments;
};

/// The child's side: runs the kit on the shared object, or reads its declaration only, and writes the result to
/// descriptor 3. What the backend prints goes to standard error. Gives the exit code.
enum class ChildTask { run_kit, declare };
[[nodiscard]] int serve_child(ChildTask task, const std::string& path, const Fixtures* fixtures,
                              const Options& options);

/// The parent's side. A child that dies, or has no result by the time, is an Error that says so; it is gone on return.
[[nodiscard]] core::Result<Report> run_kit_in_child(const ChildCommand& command, const std::string& path,
                                                    std::chrono::milliseconds timeout);
[[nodiscard]] core::Result<spi::Capabilities> declaration_in_child(const ChildCommand& command, const std::string& path,
                                                                   std::chrono::milliseconds timeout);

/// A rule of `heddle plugin check`.
struct RuleResult {
  std::string rule;
  bool kept = false;
  std::string what;  ///< what was found, and where the rule is broken what to do
};

/// Reads the file, and asks it for its declaration in a child. All rules, in one order. An Error when PATH is no shared
/// object that can be read. `path` may be a folder: then it holds one shared object that is a backend, and no copy of
/// the interface's headers (CNF-8).
[[nodiscard]] core::Result<std::vector<RuleResult>> check_plugin(const std::string& path, const ChildCommand& declare);

}  // namespace heddle::sandbox::conformance
