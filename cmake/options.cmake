# Compiler settings that hold for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

# What every target of ours is compiled and linked with. Not PUBLIC: an installed Heddle imposes none of it.
add_library(heddle_flags INTERFACE)
target_compile_options(heddle_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wformat=2 -Wundef -fno-strict-aliasing
  -fstack-protector-strong -fstack-clash-protection)
target_compile_definitions(heddle_flags INTERFACE _GLIBCXX_ASSERTIONS HEDDLE_VERSION="${PROJECT_VERSION}")
target_link_options(heddle_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
if(HEDDLE_WERROR)
  target_compile_options(heddle_flags INTERFACE -Werror)
endif()
if(CMAKE_BUILD_TYPE MATCHES "Rel" AND NOT HEDDLE_SANITIZE)
  target_compile_options(heddle_flags INTERFACE -U_FORTIFY_SOURCE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:HEDDLE_TEST>>>:-D_FORTIFY_SOURCE=2>)  # it needs optimization
endif()

# Sanitizers are for the host's code and for what is decoded in process. Guest programs stay uninstrumented: they run
# under filters that the sanitizers' runtimes cannot live with.
add_library(heddle_sanitizers INTERFACE)
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_sanitizers INTERFACE -fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # gcc 12 sees uninitialized members in instrumented code of the standard library's own (std::regex).
  target_compile_options(heddle_sanitizers INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(heddle_sanitizers INTERFACE -fsanitize=${HEDDLE_SANITIZE})
  # For the tests that a sanitizer's own memory, signals or system calls would mislead.
  if(HEDDLE_SANITIZE STREQUAL "thread")
    target_compile_definitions(heddle_sanitizers INTERFACE HEDDLE_UNDER_TSAN)
  else()
    target_compile_definitions(heddle_sanitizers INTERFACE HEDDLE_UNDER_ASAN)
  endif()
  # With fuzzing, what is fuzzed counts its branches.
  if(HEDDLE_FUZZ)
    target_compile_options(heddle_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
  endif()
  set(heddle_sanitizer_environment
    "ASAN_OPTIONS=abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:die_after_fork=0:suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
endif()

# What is tested is optimized; the tests themselves compile faster without.
function(heddle_test_options target)
  if(CMAKE_BUILD_TYPE MATCHES "Rel")
    set_target_properties(${target} PROPERTIES HEDDLE_TEST ON)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# Headers that most sources include, compiled once for the host's libraries and, with GoogleTest, once for test programs.
# The builds without it show that each source includes what it uses; the preset dev has it for tests alone.
if(HEDDLE_PCH)
  set(headers <algorithm> <array> <atomic> <chrono> <condition_variable> <deque> <filesystem> <fstream> <functional> <map>
    <memory> <mutex> <optional> <random> <set> <span> <sstream> <stop_token> <string> <string_view> <thread> <utility>
    <variant> <vector>)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch.cc CONTENT "")
  if(NOT HEDDLE_PCH STREQUAL "TESTS")
    list(PREPEND headers <nlohmann/json.hpp>)
    add_library(heddle_pch_library OBJECT ${PROJECT_BINARY_DIR}/pch.cc)
    target_link_libraries(heddle_pch_library PRIVATE heddle_flags heddle_sanitizers)
    target_precompile_headers(heddle_pch_library PRIVATE ${headers})
  endif()
  if(HEDDLE_TESTS)
    find_package(GTest REQUIRED)
    add_executable(heddle_pch_test ${PROJECT_BINARY_DIR}/pch.cc)
    target_link_libraries(heddle_pch_test PRIVATE heddle_flags heddle_sanitizers GTest::gtest_main)
    target_precompile_headers(heddle_pch_test PRIVATE <gtest/gtest.h> ${headers})
    heddle_test_options(heddle_pch_test)
  endif()
endif()
function(heddle_precompiled kind target)
  if(TARGET heddle_pch_${kind})
    target_precompile_headers(${target} REUSE_FROM heddle_pch_${kind})
  endif()
endfunction()

# Installed programs and folders are writable by their owner alone, whatever the installer's umask.
set(heddle_program_mode OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${heddle_program_mode})
