// A third party's backend: what a host demands of it before it runs, and the rules for its package.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/core/result.h"
#include "heddle/sandbox/conformance/record_store.h"
#include "heddle/sandbox/plugin/backend_process.h"

namespace heddle::sandbox::conformance {

/// The record in the user's own folder that says that this kit passed this very binary. Errc::not_found, with what to
/// do, where there is none, it is of another kit, or the kit failed.
[[nodiscard]] core::Result<Record> find_proof(const plugin::BackendFile& file);

enum class Proof {
  demanded,  ///< no record, no backend
  waived     ///< its users know what they do: tests, or the run of the kit itself
};

/// The backend in a process of its own. With a proof demanded it declares what was proven, or is not had.
[[nodiscard]] core::Result<std::shared_ptr<plugin::BackendProcess>> start_backend(const plugin::ServerCommand& command,
                                                                                  const plugin::BackendFile& file,
                                                                                  Proof proof,
                                                                                  plugin::ProcessOptions options = {});

/// The backend's code in this process. The weaker way: what it breaks is this process.
[[nodiscard]] core::Result<plugin::BackendFactory> load_backend(const plugin::BackendFile& file, Proof proof);

/// A rule of `heddle plugin check`.
struct RuleResult {
  std::string rule;
  bool kept = false;
  std::string what;  ///< what was found, and where the rule is broken what to do
};

/// Reads the file, and asks it for its declaration in a process that `serve` starts. All rules, in one order. An Error
/// when PATH is no shared object that can be read. `path` may be a folder: then it holds one shared object that is a
/// backend, and no part of Heddle's (CNF-8).
[[nodiscard]] core::Result<std::vector<RuleResult>> check_plugin(const std::string& path,
                                                                 const plugin::ServerCommand& serve);

}  // namespace heddle::sandbox::conformance
