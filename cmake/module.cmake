# heddle_module(name HEADERS … SOURCES … [PUBLIC …] [PRIVATE …] [SYSTEM …] [TESTS …] [TEST_LIBS …])
#
#   name      as in the folder list, `wire` or `jail/confine`; the target is heddle::wire, heddle::jail_confine
#   HEADERS   public headers below include/heddle/<name>/; each must compile alone (checked)
#   PUBLIC    what its headers include; PRIVATE what only its sources include. Nothing else is on the include path, so an
#             include that the table of modules forbids does not compile.
#   TESTS     *_test.cc beside the sources; one test program a module, heddle_<name>_test
#   GUEST     heddle::<name>_guest is the same without sanitizers, for the programs that run on the far side
function(heddle_module name)
  cmake_parse_arguments(arg "GUEST" "" "HEADERS;SOURCES;PUBLIC;PRIVATE;TESTS;TEST_LIBS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_module(${name}): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  string(REPLACE "/" "_" id ${name})
  set(target heddle_${id})

  heddle_module_library(${target} "${arg_SOURCES}" "${arg_PUBLIC}" "${arg_PRIVATE}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:heddle_sanitizers>)
  add_library(heddle::${id} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${id})

  if(arg_GUEST AND NOT HEDDLE_SANITIZE)
    add_library(heddle::${id}_guest ALIAS ${target})
  elseif(arg_GUEST)
    set(public ${arg_PUBLIC})
    set(private ${arg_PRIVATE})
    foreach(list public private)
      list(TRANSFORM ${list} REPLACE "^(heddle::.*)$" "\\1_guest")
    endforeach()
    heddle_module_library(${target}_guest "${arg_SOURCES}" "${public}" "${private}")
    add_library(heddle::${id}_guest ALIAS ${target}_guest)
    set_target_properties(${target}_guest PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()

  # Every public header compiles alone.
  set(probes)
  foreach(header ${arg_HEADERS})
    string(MAKE_C_IDENTIFIER ${header} probe)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/alone/${probe}.cc)
    file(CONFIGURE OUTPUT ${probe} CONTENT "#include \"heddle/${name}/${header}\"\n")
    list(APPEND probes ${probe})
  endforeach()
  if(probes AND HEDDLE_TESTS)
    add_library(${target}_headers OBJECT ${probes})
    target_link_libraries(${target}_headers PRIVATE ${target} heddle_flags)
  endif()

  if(arg_TESTS AND HEDDLE_TESTS)
    add_executable(${target}_test ${arg_TESTS})
    target_link_libraries(${target}_test PRIVATE ${target} ${arg_TEST_LIBS} heddle_flags heddle_sanitizers
      GTest::gtest_main)
    target_include_directories(${target}_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    set_target_properties(${target}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    heddle_test(${target}_test)
  endif()
endfunction()

function(heddle_module_library target sources public private)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PUBLIC ${public} PRIVATE ${private} $<BUILD_INTERFACE:heddle_flags>)
  else()
    message(FATAL_ERROR "${target} has no sources")
  endif()
endfunction()

# heddle_test(target [ARGS …] [TIMEOUT seconds] [ENVIRONMENT …]): one ctest entry for one test program.
function(heddle_test target)
  cmake_parse_arguments(arg "" "TIMEOUT" "ARGS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${target} COMMAND ${target} ${arg_ARGS})
  set_tests_properties(${target} PROPERTIES TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

# heddle_guest_program(name SOURCES … LIBS …): a program that runs on the far side. Static, without sanitizers, in
# libexec/heddle; LIBS name the _guest builds of modules.
function(heddle_guest_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} heddle_flags)
  target_link_options(${name} PRIVATE -static-pie)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec/heddle)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle)
endfunction()
