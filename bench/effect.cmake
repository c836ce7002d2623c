add_executable(heddle_effect_bench ${CMAKE_CURRENT_LIST_DIR}/sample.cc ${CMAKE_CURRENT_LIST_DIR}/effect_bench.cc)
target_link_libraries(heddle_effect_bench PRIVATE heddle::core heddle::effect_core heddle::sandbox_spi
  heddle::sandbox_effect heddle_flags heddle_sanitizers)
set_target_properties(heddle_effect_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
