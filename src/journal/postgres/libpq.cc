#include "libpq.h"

#include <dlfcn.h>

#include "heddle/core/check.h"

namespace heddle::journal {
namespace {

core::Error missing() {
  const char* const why = ::dlerror();
  return core::make_error(core::Errc::unsupported, "load PostgreSQL's client library",
                          std::string(why == nullptr ? "" : why) + "; install libpq 14 or later (Debian: libpq5)");
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

core::Result<Libpq> load() {
  void* const library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return missing();
  Libpq pq{};
  const bool all =
      find(library, "PQclear", pq.clear) && find(library, "PQconnectPoll", pq.connect_poll) &&
      find(library, "PQconnectStartParams", pq.connect_start_params) &&
      find(library, "PQconninfoFree", pq.conninfo_free) && find(library, "PQconninfoParse", pq.conninfo_parse) &&
      find(library, "PQconsumeInput", pq.consume_input) &&
      find(library, "PQenterPipelineMode", pq.enter_pipeline_mode) &&
      find(library, "PQerrorMessage", pq.error_message) && find(library, "PQexitPipelineMode", pq.exit_pipeline_mode) &&
      find(library, "PQfinish", pq.finish) && find(library, "PQflush", pq.flush) &&
      find(library, "PQgetisnull", pq.get_is_null) && find(library, "PQgetlength", pq.get_length) &&
      find(library, "PQgetResult", pq.get_result) && find(library, "PQgetvalue", pq.get_value) &&
      find(library, "PQisBusy", pq.is_busy) && find(library, "PQntuples", pq.tuples) &&
      find(library, "PQpipelineSync", pq.pipeline_sync) && find(library, "PQresultErrorField", pq.result_error_field) &&
      find(library, "PQresultErrorMessage", pq.result_error_message) &&
      find(library, "PQresultStatus", pq.result_status) && find(library, "PQsendFlushRequest", pq.send_flush_request) &&
      find(library, "PQsendPrepare", pq.send_prepare) && find(library, "PQsendQueryPrepared", pq.send_query_prepared) &&
      find(library, "PQsetnonblocking", pq.set_nonblocking) &&
      find(library, "PQsetNoticeReceiver", pq.set_notice_receiver) && find(library, "PQsocket", pq.socket) &&
      find(library, "PQstatus", pq.status);
  if (!all) return missing();
  return pq;
}

const core::Result<Libpq>& loaded() {
  static const core::Result<Libpq> library = load();
  return library;
}

}  // namespace

core::Result<void> load_libpq() {
  if (!loaded().ok()) return loaded().error();
  return {};
}

const Libpq& pq() noexcept {
  HEDDLE_CHECK(loaded().ok());
  return loaded().value();
}

}  // namespace heddle::journal
