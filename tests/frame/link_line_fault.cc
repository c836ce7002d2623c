// One program for each thing that link_line.sh must notice. The forbidden names are made up here: no library is linked.
#if defined FAULT_sqlite
#define FORBIDDEN sqlite3_open
#elif defined FAULT_libpq
#define FORBIDDEN PQconnectdb
#elif defined FAULT_libcurl || defined FAULT_imported || defined FAULT_library
#define FORBIDDEN curl_easy_init
#elif defined FAULT_journal
#define NAMESPACE journal
#elif defined FAULT_effect
#define NAMESPACE effect
#elif defined FAULT_egress
#define NAMESPACE egress
#endif

#if defined FAULT_imported
extern "C" int FORBIDDEN(int);
#elif defined FORBIDDEN
extern "C" int FORBIDDEN(int);
extern "C" [[gnu::noinline]] int FORBIDDEN(int value) { return value; }
#elif defined NAMESPACE
namespace heddle::NAMESPACE {
int touch(int value);
[[gnu::noinline]] int touch(int value) { return value; }
}  // namespace heddle::NAMESPACE
#define FORBIDDEN heddle::NAMESPACE::touch
#endif

#if !defined FAULT_library
int main(int argc, char**) {
#if defined FORBIDDEN
  return FORBIDDEN(argc) == argc ? 0 : 1;
#else
  return argc > 0 ? 0 : 1;
#endif
}
#endif
