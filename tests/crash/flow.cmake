add_executable(heddle_flow_kill_test ${CMAKE_CURRENT_LIST_DIR}/flow_kill_test.cc)
target_link_libraries(heddle_flow_kill_test PRIVATE heddle::core heddle::effect_core heddle::effect_runtime
  heddle::journal_core heddle::journal_sqlite heddle_flags heddle_sanitizers GTest::gtest)  # its main is its own
set_target_properties(heddle_flow_kill_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
heddle_test(heddle_flow_kill_test THREADS TIMEOUT 600 COST 60)
