# heddle_module(name HEADERS … SOURCES … [PUBLIC …] [PRIVATE …] [SYSTEM …] [TESTS …] [TEST_LIBS …])
#
#   name      as in the folder list, `wire` or `jail/confine`; the target is heddle::wire, heddle::jail_confine
#   HEADERS   public headers below include/heddle/<name>/; each must compile alone (checked)
#   PUBLIC    what its headers include; PRIVATE what only its sources include. Nothing else is on the include path, so an
#             include that the table of modules forbids does not compile.
#   TESTS     *_test.cc beside the sources; one test program a module, heddle_<name>_test
#   GUEST     heddle::<name>_guest is the same without sanitizers, for the programs that run on the far side
#   INTERNAL  not installed: for a module that only Heddle's own programs link
#   THREADS   it or its tests have threads: TSan runs them
#
# What is declared here is what the table of modules in README.md says: the test module_table compares the two, and the
# test include_boundary holds every #include to it.
function(heddle_module name)
  cmake_parse_arguments(arg "GUEST;INTERNAL;THREADS" "" "HEADERS;SOURCES;PUBLIC;PRIVATE;TESTS;TEST_LIBS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_module(${name}): what is ${arg_UNPARSED_ARGUMENTS}?")
  endif()
  string(REPLACE "/" "_" id ${name})
  set(target heddle_${id})

  heddle_module_library(${target} "${arg_SOURCES}" "${arg_PUBLIC}" "${arg_PRIVATE}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:heddle_sanitizers>)
  heddle_precompiled(library ${target})
  add_library(heddle::${id} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${id})
  heddle_record_module(${name} "${arg_PUBLIC};${arg_PRIVATE}" "${arg_TEST_LIBS}")

  if(NOT arg_INTERNAL)
    install(TARGETS ${target} EXPORT heddleTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    foreach(header ${arg_HEADERS})
      get_filename_component(folder ${header} DIRECTORY)
      install(FILES include/heddle/${name}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heddle/${name}/${folder})
    endforeach()
  endif()

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
  if(probes AND HEDDLE_TESTS AND NOT HEDDLE_SANITIZE)
    add_library(${target}_headers OBJECT ${probes})
    target_link_libraries(${target}_headers PRIVATE ${target} heddle_flags)
  endif()

  if(arg_TESTS AND HEDDLE_TESTS)
    add_executable(${target}_test ${arg_TESTS})
    target_link_libraries(${target}_test PRIVATE ${target} ${arg_TEST_LIBS} heddle_flags heddle_sanitizers
      GTest::gtest_main)
    target_include_directories(${target}_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    set_target_properties(${target}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    if(arg_THREADS)
      heddle_test(${target}_test THREADS)
    else()
      heddle_test(${target}_test)
    endif()
  endif()
endfunction()

function(heddle_module_library target sources public private)
  # Libraries that are headers only and that only our sources include: nobody who links an installed Heddle needs them.
  list(TRANSFORM private REPLACE "^(nlohmann_json::nlohmann_json|CLI11::CLI11)$" "$<BUILD_INTERFACE:\\1>")
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${target} PUBLIC ${public} PRIVATE ${private} $<BUILD_INTERFACE:heddle_flags>)
    target_compile_features(${target} PUBLIC cxx_std_20)
  else()
    message(FATAL_ERROR "${target} has no sources")
  endif()
endfunction()

# heddle_test(target [THREADS] [ARGS …] [TIMEOUT seconds] [COST seconds] [ENVIRONMENT …]): one ctest entry for one test
# program. Those with THREADS have the label `threads` and are what the target heddle_thread_tests builds. COST, about what
# it takes where that is long, makes it start early.
function(heddle_test target)
  cmake_parse_arguments(arg "THREADS" "TIMEOUT;COST" "ARGS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  heddle_test_options(${target})
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(GTest::gtest_main IN_LIST libraries)
    heddle_precompiled(test ${target})
  endif()
  add_test(NAME ${target} COMMAND ${target} ${arg_ARGS})
  set_tests_properties(${target} PROPERTIES TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "${arg_ENVIRONMENT};${heddle_sanitizer_environment}")
  if(arg_COST)
    set_tests_properties(${target} PROPERTIES COST ${arg_COST})
  endif()
  if(arg_THREADS)
    set_property(TEST ${target} APPEND PROPERTY LABELS threads)
    add_dependencies(heddle_thread_tests ${target})
  endif()
endfunction()

# One line a module for the checks of tests/frame: "name: what it links: what its tests link besides". The declared
# names of Heddle's own modules are written as in the folder list.
function(heddle_record_module name libraries test_libraries)
  string(REPLACE "/" "_" id ${name})
  set_property(GLOBAL APPEND PROPERTY heddle_modules ${name})
  set_property(GLOBAL PROPERTY heddle_module_${id}_libraries "${libraries}")
  set_property(GLOBAL PROPERTY heddle_module_${id}_test_libraries "${test_libraries}")
endfunction()

function(heddle_write_modules file)
  get_property(modules GLOBAL PROPERTY heddle_modules)
  set(text)
  foreach(name ${modules})
    string(REPLACE "/" "_" id ${name})
    string(APPEND text "${name}")
    foreach(kind libraries test_libraries)
      get_property(libraries GLOBAL PROPERTY heddle_module_${id}_${kind})
      string(APPEND text ":")
      foreach(other ${modules})
        string(REPLACE "/" "_" other_id ${other})
        if("heddle::${other_id}" IN_LIST libraries)
          string(APPEND text " ${other}")
        endif()
      endforeach()
    endforeach()
    string(APPEND text "\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

# heddle_guest_program(name SOURCES … LIBS …): a program that runs on the far side. Static, without sanitizers, in
# libexec/heddle; LIBS name the _guest builds of modules.
function(heddle_guest_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} heddle_flags)
  target_link_options(${name} PRIVATE -static-pie)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec/heddle)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle PERMISSIONS ${heddle_program_mode})
endfunction()
