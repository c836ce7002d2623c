find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
add_executable(heddle_journal_bench ${CMAKE_CURRENT_LIST_DIR}/journal_bench.cc)
target_link_libraries(heddle_journal_bench PRIVATE heddle::core heddle::journal_core heddle::journal_sqlite
  SQLite::SQLite3 fmt::fmt heddle_flags heddle_sanitizers)
set_target_properties(heddle_journal_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
