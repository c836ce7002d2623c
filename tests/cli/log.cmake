find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
add_executable(heddle_log_test ${CMAKE_CURRENT_LIST_DIR}/log_test.cc ${CMAKE_CURRENT_LIST_DIR}/process.cc
  ${PROJECT_SOURCE_DIR}/src/journal/postgres/testing/postgres_server.cc)
target_include_directories(heddle_log_test PRIVATE ${PROJECT_SOURCE_DIR}/src/journal/postgres)
target_link_libraries(heddle_log_test PRIVATE heddle::core heddle::journal_core heddle::journal_open
  SQLite::SQLite3 PostgreSQL::PostgreSQL heddle_flags heddle_sanitizers GTest::gtest_main)
target_compile_definitions(heddle_log_test PRIVATE HEDDLE_FAKE_COMMAND="$<TARGET_FILE:fake_heddle>"
  HEDDLE_READ_JOURNAL="${PROJECT_SOURCE_DIR}/examples/journal/read_journal.py")
set_target_properties(heddle_log_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(heddle_log_test fake_heddle)
heddle_test(heddle_log_test THREADS)
