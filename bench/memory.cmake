# The memory of a guest that waits.
add_executable(heddle-bench-wait wait.cc)
target_link_libraries(heddle-bench-wait PRIVATE heddle::jail_confine_guest heddle::core_guest heddle_flags)
target_link_options(heddle-bench-wait PRIVATE -static-pie)
set_target_properties(heddle-bench-wait PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/payload)
add_executable(heddle_memory_bench memory_bench.cc process_memory.cc)
target_link_libraries(heddle_memory_bench PRIVATE heddle::core heddle::wire heddle::jail heddle_flags
  heddle_sanitizers)
set_target_properties(heddle_memory_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
target_compile_definitions(heddle_memory_bench PRIVATE HEDDLE_LIBEXEC_DIR="${PROJECT_BINARY_DIR}/libexec/heddle"
  HEDDLE_BENCH_WAIT="$<TARGET_FILE:heddle-bench-wait>")
add_dependencies(heddle_memory_bench heddle-supervisor heddle-sandbox-worker heddle-bench-wait)
