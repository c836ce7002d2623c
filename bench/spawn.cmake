# Without a C library where we know how, so that what is measured is the spawn: see no_libc.cc.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(confine ${PROJECT_SOURCE_DIR}/src/jail/confine)
  add_executable(heddle-bench-true true.cc no_libc.cc ${confine}/confine.cc ${confine}/landlock.cc ${confine}/notify.cc
    ${PROJECT_SOURCE_DIR}/src/core/fd.cc)
  target_include_directories(heddle-bench-true PRIVATE ${confine}/include ${PROJECT_SOURCE_DIR}/src/core/include)
  target_compile_features(heddle-bench-true PRIVATE cxx_std_20)
  # Not heddle_flags: what those check for calls the library that is not there.
  target_compile_options(heddle-bench-true PRIVATE -O2 -Wall -Wextra -Werror -fno-stack-protector -ffunction-sections
    -fdata-sections)
  target_link_options(heddle-bench-true PRIVATE -static -nostdlib -Wl,--gc-sections)
else()
  add_executable(heddle-bench-true true.cc)
  target_link_libraries(heddle-bench-true PRIVATE heddle::jail_confine_guest heddle::core_guest heddle_flags)
  target_link_options(heddle-bench-true PRIVATE -static-pie)
endif()
set_target_properties(heddle-bench-true PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/payload)
add_executable(heddle_spawn_bench sample.cc spawn_bench.cc)
target_link_libraries(heddle_spawn_bench PRIVATE heddle::core heddle::jail heddle::jail_unsafe heddle_flags heddle_sanitizers)
set_target_properties(heddle_spawn_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
target_compile_definitions(heddle_spawn_bench PRIVATE HEDDLE_LIBEXEC_DIR="${PROJECT_BINARY_DIR}/libexec/heddle"
  HEDDLE_BENCH_COMMAND="$<TARGET_FILE:heddle>" HEDDLE_BENCH_TRUE="$<TARGET_FILE:heddle-bench-true>")
add_dependencies(heddle_spawn_bench heddle heddle-exec-stub heddle-supervisor heddle-bench-true)
