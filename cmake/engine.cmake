# The engine's artefact: quickjs.wasm of the npm package quickjs-wasi, pinned by hash, made C by wasm2c.
# Sets HEDDLE_ENGINE_C, HEDDLE_ENGINE_H and HEDDLE_ENGINE_INCLUDE_DIR (docs/adr/0005-engine.md).
set(heddle_engine_package quickjs-wasi)
set(heddle_engine_version 3.7.0)
set(heddle_engine_sha512
  ea7392841b42825ad02fac87fa1a6d21f11d0355a54a6bd8fcc9b96299fd22fb6c683b2b60883cc7ec6821742dd36c3ae9ad1fd5e2d3023d6585f8006c9e1657)
set(heddle_engine_wasm_sha256 c0bd8f296e18cf074969f6401b9ecb72609a1323818ec2b9bf7a8f8d740d1363)
set(heddle_wasm2c_version 1.0.32)

# wasm2c of another version makes other names for the same module: refuse here instead of in a compiler error.
find_program(HEDDLE_WASM2C wasm2c DOC "wabt's wasm2c")
find_path(HEDDLE_WASM_RT_INCLUDE_DIR wasm-rt.h DOC "where wabt's wasm-rt.h is")
if(NOT HEDDLE_WASM2C OR NOT HEDDLE_WASM_RT_INCLUDE_DIR)
  message(FATAL_ERROR "wasm2c and wasm-rt.h are needed to build the script engine, and not both were found. "
    "On Debian: apt install wabt. Elsewhere: -DHEDDLE_WASM2C=/path/to/wasm2c -DHEDDLE_WASM_RT_INCLUDE_DIR=/path/to/include "
    "(wabt ${heddle_wasm2c_version}).")
endif()
execute_process(COMMAND ${HEDDLE_WASM2C} --version OUTPUT_VARIABLE heddle_found OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE heddle_failed)
if(heddle_failed OR NOT heddle_found MATCHES "^${heddle_wasm2c_version}([^0-9.]|$)")
  message(FATAL_ERROR "${HEDDLE_WASM2C} is version '${heddle_found}'; its output is tied to the version, and Heddle is "
    "written for ${heddle_wasm2c_version} (Debian 12's wabt). Give one with -DHEDDLE_WASM2C=/path/to/wasm2c.")
endif()

# Where the npm registry is: only the machine's own configuration says, never this repository.
function(heddle_npm_registry result)
  find_program(HEDDLE_NPM npm)
  find_program(HEDDLE_NODE NAMES node nodejs)
  mark_as_advanced(HEDDLE_NPM HEDDLE_NODE)
  set(registry)
  if(HEDDLE_NPM)
    execute_process(COMMAND ${HEDDLE_NPM} config get registry OUTPUT_VARIABLE registry ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  elseif(HEDDLE_NODE AND EXISTS /usr/share/nodejs/registry-url)
    # An ES module whose own imports only Debian's node finds; by way of a node_modules folder every node does.
    set(folder ${PROJECT_BINARY_DIR}/engine/registry)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK /usr/share/nodejs ${folder}/node_modules SYMBOLIC)
    file(WRITE ${folder}/registry.mjs "import url from 'registry-url'\nprocess.stdout.write(url())\n")
    execute_process(COMMAND ${HEDDLE_NODE} --preserve-symlinks --preserve-symlinks-main ${folder}/registry.mjs
      OUTPUT_VARIABLE registry ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  else()
    message(FATAL_ERROR "The script engine's artefact has to be downloaded, and nothing here knows the npm registry. "
      "On Debian: apt install node-registry-url (or npm). Without a network: take quickjs.wasm out of the npm package "
      "${heddle_engine_package} ${heddle_engine_version} and give it with -DHEDDLE_ENGINE_WASM=FILE.")
  endif()
  if(NOT registry MATCHES "^https?://")
    message(FATAL_ERROR "The npm registry of this machine could not be learned (got '${registry}'). "
      "Set it with: npm config set registry URL; or give the file with -DHEDDLE_ENGINE_WASM=FILE.")
  endif()
  string(REGEX REPLACE "/+$" "" registry "${registry}")
  set(${result} "${registry}" PARENT_SCOPE)
endfunction()

# Copies the wasm file from `archive` (the package) to `destination`.
function(heddle_unpack_engine archive destination)
  set(folder ${destination}.unpacked)
  file(REMOVE_RECURSE ${folder})
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder} PATTERNS package/quickjs.wasm)
  file(RENAME ${folder}/package/quickjs.wasm ${destination})
  file(REMOVE_RECURSE ${folder})
endfunction()

# A file with the pinned content at `result`: the one that was given, the one from an earlier build, or a download.
function(heddle_engine_wasm result)
  if(HEDDLE_ENGINE_WASM)
    if(NOT EXISTS "${HEDDLE_ENGINE_WASM}")
      message(FATAL_ERROR "HEDDLE_ENGINE_WASM: there is no file '${HEDDLE_ENGINE_WASM}'.")
    endif()
    file(SHA256 "${HEDDLE_ENGINE_WASM}" hash)
    if(NOT hash STREQUAL heddle_engine_wasm_sha256)
      message(FATAL_ERROR "HEDDLE_ENGINE_WASM: '${HEDDLE_ENGINE_WASM}' is not the pinned engine: its SHA-256 is ${hash}, "
        "${heddle_engine_wasm_sha256} is expected (quickjs.wasm of ${heddle_engine_package} ${heddle_engine_version}).")
    endif()
    set(${result} "${HEDDLE_ENGINE_WASM}" PARENT_SCOPE)
    return()
  endif()

  # The user's cache folder outlives build folders, so a second checkout downloads nothing either.
  set(folders ${PROJECT_BINARY_DIR}/engine)
  if(DEFINED ENV{XDG_CACHE_HOME} AND IS_ABSOLUTE "$ENV{XDG_CACHE_HOME}")
    list(APPEND folders "$ENV{XDG_CACHE_HOME}/heddle")
  elseif(DEFINED ENV{HOME} AND IS_ABSOLUTE "$ENV{HOME}")
    list(APPEND folders "$ENV{HOME}/.cache/heddle")
  endif()
  set(name ${heddle_engine_package}-${heddle_engine_version}.wasm)
  foreach(folder ${folders})
    if(EXISTS ${folder}/${name})
      file(SHA256 ${folder}/${name} hash)
      if(hash STREQUAL heddle_engine_wasm_sha256)
        set(${result} ${folder}/${name} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()

  heddle_npm_registry(registry)
  set(archive ${PROJECT_BINARY_DIR}/engine/${heddle_engine_package}-${heddle_engine_version}.tgz)
  set(wasm ${PROJECT_BINARY_DIR}/engine/${name})
  message(STATUS "Downloading ${heddle_engine_package} ${heddle_engine_version} from the npm registry (0.6 MB)")
  # No EXPECTED_HASH here: with it a failed transfer is reported as a wrong hash. The hash is checked below.
  foreach(attempt RANGE 1 3)
    file(DOWNLOAD ${registry}/${heddle_engine_package}/-/${heddle_engine_package}-${heddle_engine_version}.tgz ${archive}
      TIMEOUT 120 INACTIVITY_TIMEOUT 30 TLS_VERIFY ON STATUS status)
    list(GET status 0 code)
    if(code EQUAL 0)
      break()
    endif()
  endforeach()
  if(NOT code EQUAL 0)
    list(GET status 1 text)
    file(REMOVE ${archive})
    message(FATAL_ERROR "The script engine's artefact could not be downloaded (${text}). If this machine has no network, "
      "take quickjs.wasm out of the npm package ${heddle_engine_package} ${heddle_engine_version} elsewhere and give it "
      "with -DHEDDLE_ENGINE_WASM=FILE.")
  endif()
  file(SHA512 ${archive} hash)
  if(NOT hash STREQUAL heddle_engine_sha512)
    file(REMOVE ${archive})
    message(FATAL_ERROR "What the npm registry gave for ${heddle_engine_package} ${heddle_engine_version} is not the "
      "pinned package (SHA-512 ${hash}, ${heddle_engine_sha512} is expected). It was not used.")
  endif()
  heddle_unpack_engine(${archive} ${wasm})
  file(SHA256 ${wasm} hash)
  if(NOT hash STREQUAL heddle_engine_wasm_sha256)
    message(FATAL_ERROR "${wasm}: SHA-256 ${hash}, ${heddle_engine_wasm_sha256} is expected.")
  endif()
  # A copy for the next build folder; a cache that cannot be written is no error.
  list(LENGTH folders count)
  if(count GREATER 1)
    list(GET folders 1 cache)
    execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory ${cache} OUTPUT_QUIET ERROR_QUIET)
    execute_process(COMMAND ${CMAKE_COMMAND} -E copy ${wasm} ${cache}/${name} OUTPUT_QUIET ERROR_QUIET)
  endif()
  set(${result} ${wasm} PARENT_SCOPE)
endfunction()

heddle_engine_wasm(heddle_wasm)
set(HEDDLE_ENGINE_INCLUDE_DIR ${PROJECT_BINARY_DIR}/engine/generated)
set(HEDDLE_ENGINE_C ${HEDDLE_ENGINE_INCLUDE_DIR}/quickjs_wasm.c)
set(HEDDLE_ENGINE_H ${HEDDLE_ENGINE_INCLUDE_DIR}/quickjs_wasm.h)
set(heddle_engine_raw ${PROJECT_BINARY_DIR}/engine/raw)
set(heddle_engine_edits ${CMAKE_CURRENT_LIST_DIR}/engine_edits.cmake)
file(MAKE_DIRECTORY ${HEDDLE_ENGINE_INCLUDE_DIR} ${heddle_engine_raw})
add_custom_command(OUTPUT ${HEDDLE_ENGINE_C} ${HEDDLE_ENGINE_H}
  COMMAND ${HEDDLE_WASM2C} ${heddle_wasm} -n qjs -o ${heddle_engine_raw}/quickjs_wasm.c
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${heddle_engine_raw}/quickjs_wasm.c -DDESTINATION=${HEDDLE_ENGINE_C}
    -P ${heddle_engine_edits}
  COMMAND ${CMAKE_COMMAND} -E copy ${heddle_engine_raw}/quickjs_wasm.h ${HEDDLE_ENGINE_H}
  DEPENDS ${heddle_wasm} ${heddle_engine_edits} COMMENT "Making C of the script engine" VERBATIM)
add_custom_target(heddle_engine_c DEPENDS ${HEDDLE_ENGINE_C} ${HEDDLE_ENGINE_H})  # for clang-tidy, which compiles nothing

# Compiled without sanitizers in every build: it is the guest, and its bounds are the guard pages. Its stack frames are
# probed page by page, so that it cannot step over the guard of the native stack.
add_library(heddle_quickjs OBJECT ${HEDDLE_ENGINE_C} ${HEDDLE_ENGINE_H})
add_dependencies(heddle_quickjs heddle_engine_c)
target_include_directories(heddle_quickjs PRIVATE ${HEDDLE_WASM_RT_INCLUDE_DIR})
target_compile_options(heddle_quickjs PRIVATE -O2 -g0 -w -fno-strict-aliasing -fno-math-errno -ffp-contract=off
  -fstack-clash-protection -fvisibility=hidden)
target_compile_definitions(heddle_quickjs PRIVATE WASM_RT_MEMCHECK_SIGNAL_HANDLER=1 WASM_RT_SKIP_SIGNAL_RECOVERY=1
  WASM_RT_USE_STACK_DEPTH_COUNT=0)
