add_executable(heddle_runtime_bench ${CMAKE_CURRENT_LIST_DIR}/sample.cc ${CMAKE_CURRENT_LIST_DIR}/runtime_bench.cc)
target_link_libraries(heddle_runtime_bench PRIVATE heddle::core heddle::effect_core heddle::effect_runtime
  heddle::journal_core heddle::journal_memory heddle_flags heddle_sanitizers)
set_target_properties(heddle_runtime_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
