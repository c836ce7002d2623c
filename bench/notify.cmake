# The cost of a denial that is told.
add_executable(heddle-notify-guest notify_guest.cc)
target_link_libraries(heddle-notify-guest PRIVATE heddle::jail_confine_guest heddle::wire_guest heddle::core_guest heddle_flags)
target_link_options(heddle-notify-guest PRIVATE -static-pie)
set_target_properties(heddle-notify-guest PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/libexec)

add_executable(heddle_notify_bench sample.cc notify_bench.cc)
target_link_libraries(heddle_notify_bench PRIVATE heddle::core heddle::wire heddle::jail heddle_flags heddle_sanitizers)
set_target_properties(heddle_notify_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
target_compile_definitions(heddle_notify_bench PRIVATE
  HEDDLE_LIBEXEC_DIR="${PROJECT_BINARY_DIR}/libexec/heddle" HEDDLE_NOTIFY_GUEST="$<TARGET_FILE:heddle-notify-guest>")
add_dependencies(heddle_notify_bench heddle-supervisor heddle-notify-guest)
