#include <stdexcept>

#include "heddle/core/quote.h"
#include "heddle/core/text.h"
#include "heddle/sandbox/conformance/plugin_check.h"

namespace heddle::sandbox::conformance {
namespace {

core::Error unproven(const plugin::BackendFile& file, std::string_view why) {
  return core::make_error(core::Errc::not_found, "find the proof of a backend",
                          core::printable_line(file.path()) + ": " + std::string(why) + "; run " +
                              core::shown_command("heddle conformance --backend", file.path()));
}

core::Result<void> declares_the_same(const plugin::BackendFile& file, const spi::SandboxBackend& backend,
                                     const Record& record) {
  std::string declared;
  try {
    declared = declaration_json(backend.capabilities());
  } catch (const std::exception& error) {
    return unproven(file,
                    "its declaration cannot be read: " + core::bound_text(error.what() == nullptr ? "" : error.what()));
  } catch (...) {
    return unproven(file, "its declaration cannot be read");
  }
  if (declared != declaration_json(record.report.declaration)) {
    return unproven(file, "it declares something else than what was proven: " + declared);
  }
  return {};
}

}  // namespace

core::Result<Record> find_proof(const plugin::BackendFile& file) {
  HEDDLE_ASSIGN(const RecordStore store, RecordStore::open());
  auto record = store.find(file.address());
  if (!record.ok() && record.error().code == core::Errc::not_found) {
    return unproven(file, "there is no record of this very binary in " + core::printable_line(store.path()));
  }
  if (!record.ok()) return record;
  if (record.value().kit_version != kKitVersion) {
    return unproven(file, "its record is of kit " + core::printable_line(record.value().kit_version) + ", this is " +
                              std::string(kKitVersion));
  }
  if (!record.value().report.passed()) return unproven(file, "its record says that the kit failed");
  return record;
}

core::Result<std::shared_ptr<plugin::BackendProcess>> start_backend(const plugin::ServerCommand& command,
                                                                    const plugin::BackendFile& file, Proof proof,
                                                                    plugin::ProcessOptions options) {
  if (proof == Proof::waived) return plugin::BackendProcess::start(command, &file, options);
  // Before any of its code runs.
  HEDDLE_ASSIGN(const Record record, find_proof(file));
  HEDDLE_ASSIGN(auto process, plugin::BackendProcess::start(command, &file, options));
  HEDDLE_TRY(declares_the_same(file, *process, record));
  return process;
}

core::Result<plugin::BackendFactory> load_backend(const plugin::BackendFile& file, Proof proof) {
  if (proof == Proof::waived) return plugin::load_backend(file);
  HEDDLE_ASSIGN(const Record record, find_proof(file));
  HEDDLE_ASSIGN(auto factory, plugin::load_backend(file));
  const auto first = factory();
  if (first == nullptr) return unproven(file, "it gave no backend");
  HEDDLE_TRY(declares_the_same(file, *first, record));
  return factory;
}

}  // namespace heddle::sandbox::conformance
