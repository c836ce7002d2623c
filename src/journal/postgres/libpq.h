// libpq by dlopen(3): it brings twenty libraries along (TLS, Kerberos, LDAP), which a program that only could open a
// journal in PostgreSQL would otherwise load at every start, and could not start without.
#pragma once

#include <libpq-fe.h>

#include "heddle/core/result.h"

namespace heddle::journal {

/// Its functions, by their names without PQ in our spelling (PostgreSQL's manual, "libpq - C Library").
struct Libpq {
  decltype(&::PQclear) clear;
  decltype(&::PQconnectPoll) connect_poll;
  decltype(&::PQconnectStartParams) connect_start_params;
  decltype(&::PQconninfoFree) conninfo_free;
  decltype(&::PQconninfoParse) conninfo_parse;
  decltype(&::PQconsumeInput) consume_input;
  decltype(&::PQenterPipelineMode) enter_pipeline_mode;
  decltype(&::PQerrorMessage) error_message;
  decltype(&::PQexitPipelineMode) exit_pipeline_mode;
  decltype(&::PQfinish) finish;
  decltype(&::PQflush) flush;
  decltype(&::PQgetisnull) get_is_null;
  decltype(&::PQgetlength) get_length;
  decltype(&::PQgetResult) get_result;
  decltype(&::PQgetvalue) get_value;
  decltype(&::PQisBusy) is_busy;
  decltype(&::PQntuples) tuples;
  decltype(&::PQpipelineSync) pipeline_sync;
  decltype(&::PQresultErrorField) result_error_field;
  decltype(&::PQresultErrorMessage) result_error_message;
  decltype(&::PQresultStatus) result_status;
  decltype(&::PQsendFlushRequest) send_flush_request;
  decltype(&::PQsendPrepare) send_prepare;
  decltype(&::PQsendQueryPrepared) send_query_prepared;
  decltype(&::PQsetnonblocking) set_nonblocking;
  decltype(&::PQsetNoticeReceiver) set_notice_receiver;
  decltype(&::PQsocket) socket;
  decltype(&::PQstatus) status;
};

/// Loads it once a process; it is never unloaded, since what it brings along has handlers for the process's end.
/// Errc::unsupported, with what to do, where it is not here. Thread-safe.
[[nodiscard]] core::Result<void> load_libpq();
/// Once load_libpq() has succeeded.
[[nodiscard]] const Libpq& pq() noexcept;

}  // namespace heddle::journal
