find_package(SQLite3 REQUIRED)
add_executable(heddle_journal_power_test ${CMAKE_CURRENT_LIST_DIR}/journal_power_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/journal_vfs.cc)
target_link_libraries(heddle_journal_power_test PRIVATE heddle::core heddle::journal_core heddle::journal_sqlite
  SQLite::SQLite3 heddle_flags heddle_sanitizers GTest::gtest_main)
set_target_properties(heddle_journal_power_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
heddle_test(heddle_journal_power_test)
