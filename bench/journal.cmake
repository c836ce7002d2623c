find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
add_executable(heddle_journal_bench ${CMAKE_CURRENT_LIST_DIR}/journal_bench.cc
  ${PROJECT_SOURCE_DIR}/src/journal/postgres/testing/postgres_server.cc)
target_include_directories(heddle_journal_bench PRIVATE ${PROJECT_SOURCE_DIR}/src/journal/postgres)
target_link_libraries(heddle_journal_bench PRIVATE heddle::core heddle::journal_core heddle::journal_sqlite
  heddle::journal_postgres SQLite::SQLite3 PostgreSQL::PostgreSQL fmt::fmt heddle_flags heddle_sanitizers)
set_target_properties(heddle_journal_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
