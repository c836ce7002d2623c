find_package(SQLite3 REQUIRED)
foreach(test power damage kill)
  set(target heddle_journal_${test}_test)
  add_executable(${target} ${CMAKE_CURRENT_LIST_DIR}/journal_${test}_test.cc)
  target_link_libraries(${target} PRIVATE heddle::core heddle::journal_core heddle::journal_sqlite
    heddle_flags heddle_sanitizers)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  heddle_test(${target})
endforeach()
foreach(test power damage)
  target_sources(heddle_journal_${test}_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/journal_vfs.cc)
  target_link_libraries(heddle_journal_${test}_test PRIVATE SQLite::SQLite3 GTest::gtest_main)
endforeach()
target_link_libraries(heddle_journal_kill_test PRIVATE GTest::gtest)  # its main is its own: it is the victim too
