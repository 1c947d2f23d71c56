# SPDX-License-Identifier: Apache-2.0
# A room is a folder under src/ and one static library. `tw_add_room` is the only way to make one:
# its DEPS must already be declared, so a cycle or an upward edge cannot be written down
# (scripts/check_layers.py compares the #includes with the same lists).

add_library(tw_options INTERFACE)
target_compile_features(tw_options INTERFACE cxx_std_20)
target_include_directories(tw_options INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(tw_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers -fno-strict-aliasing)
# GCC's warnings that follow values through inlined library code are wrong about moved std::variant and std::string when
# it inlines much (GCC bugs 105562, 105651); the sanitizers look for the same faults in what really runs.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-O2|-O3|-fsanitize")
  target_compile_options(tw_options INTERFACE
    -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# Clang reports that the standard library's own std::ranges::stable_sort uses what the library has deprecated, and does
# not know GCC's attribute `optimize`, which only makes a loop faster.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(tw_options INTERFACE -Wno-deprecated-declarations -Wno-unknown-attributes)
endif()

# Both only save time; neither changes what is built.
find_program(TW_CCACHE ccache)
if(TW_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TW_CCACHE}")
endif()
find_program(TW_MOLD mold)
if(TW_MOLD)
  target_link_options(tw_options INTERFACE -fuse-ld=mold)
endif()

# tw_add_room(NAME room SOURCES a.cpp ... [TESTS a_test.cpp ...] [FUZZ a_fuzz.cpp ...] [DEPS room ...] [LIBRARIES lib ...])
# A room without sources is an interface library.
function(tw_add_room)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;TESTS;FUZZ;DEPS;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "room '${ARG_NAME}': what is '${ARG_UNPARSED_ARGUMENTS}'?")
  endif()
  string(REPLACE "/" "_" target "tw_${ARG_NAME}")
  foreach(dep IN LISTS ARG_DEPS)
    string(REPLACE "/" "_" dep_target "tw_${dep}")
    if(NOT TARGET ${dep_target})
      message(FATAL_ERROR "room '${ARG_NAME}' uses '${dep}', which is not declared before it")
    endif()
    list(APPEND dep_targets ${dep_target})
  endforeach()
  if(ARG_SOURCES)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_link_libraries(${target} PUBLIC tw_options ${dep_targets} ${ARG_LIBRARIES})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE tw_options ${dep_targets} ${ARG_LIBRARIES})
  endif()
  # `all_verify_interface_header_sets` compiles every header alone.
  file(GLOB_RECURSE headers "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  if(headers AND ARG_SOURCES)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/src" FILES ${headers})
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  if(TW_BUILD_TESTS AND ARG_TESTS)
    tw_add_test(NAME ${target}_test SOURCES ${ARG_TESTS} DEPS ${ARG_NAME})
  endif()
  foreach(source IN LISTS ARG_FUZZ)
    tw_add_fuzzer(SOURCE ${source} DEPS ${ARG_NAME})
  endforeach()
endfunction()

# tw_add_test(NAME target SOURCES ... DEPS room ... [LIBRARIES ...] [LABELS ...]): one GoogleTest binary, one ctest entry
# a case. LABELS is `quick` unless given; `slow` tests run from scripts/slow.sh only.
function(tw_add_test)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS;LIBRARIES;LABELS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  foreach(dep IN LISTS ARG_DEPS)
    string(REPLACE "/" "_" dep_target "tw_${dep}")
    target_link_libraries(${ARG_NAME} PRIVATE ${dep_target})
  endforeach()
  target_link_libraries(${ARG_NAME} PRIVATE GTest::gtest_main GTest::gmock ${ARG_LIBRARIES})
  target_compile_definitions(${ARG_NAME} PRIVATE TW_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TW_BINARY_DIR="${CMAKE_BINARY_DIR}")
  include(GoogleTest)
  if(NOT ARG_LABELS)
    set(ARG_LABELS quick)
  endif()
  gtest_discover_tests(${ARG_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

# tw_add_fuzzer(SOURCE x_fuzz.cpp DEPS room ... [CORPUS folder ...]): defines LLVMFuzzerTestOneInput. Under the `fuzz` preset
# (clang) it is a libFuzzer program; elsewhere the same entry runs on seeded inputs for a few seconds as a quick test.
# Seeds are in tests/corpora/x_fuzz and in the CORPUS folders, named from the top of the tree.
function(tw_add_fuzzer)
  cmake_parse_arguments(ARG "" "SOURCE" "DEPS;CORPUS" ${ARGN})
  if(NOT TW_BUILD_TESTS AND NOT TW_LIBFUZZER)
    return()
  endif()
  get_filename_component(stem "${ARG_SOURCE}" NAME_WE)
  set(target "tw_${stem}")
  add_executable(${target} ${ARG_SOURCE})
  foreach(dep IN LISTS ARG_DEPS)
    string(REPLACE "/" "_" dep_target "tw_${dep}")
    target_link_libraries(${target} PRIVATE ${dep_target})
  endforeach()
  foreach(folder IN ITEMS "tests/corpora/${stem}" LISTS ARG_CORPUS)
    list(APPEND corpus "${CMAKE_SOURCE_DIR}/${folder}")
  endforeach()
  if(TW_LIBFUZZER)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/fuzz")
    # scripts/slow.sh hands the seeds to the fuzzer.
    list(JOIN corpus "\n" corpus_lines)
    file(WRITE "${CMAKE_BINARY_DIR}/bin/fuzz/${target}.corpus" "${corpus_lines}\n")
  else()
    target_sources(${target} PRIVATE "${CMAKE_SOURCE_DIR}/tests/fuzz/seeded_main.cpp")
    add_test(NAME ${stem} COMMAND ${target} --seconds=2 ${corpus})
    set_tests_properties(${stem} PROPERTIES LABELS quick)
  endif()
endfunction()

# tw_add_program(NAME tilewright SOURCES ... DEPS room ... [LIBRARIES ...]): an executable at the top of the build folder
# that finds its libraries relative to itself: beside it when installed, in the pinned packages when built.
function(tw_add_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  foreach(dep IN LISTS ARG_DEPS)
    string(REPLACE "/" "_" dep_target "tw_${dep}")
    target_link_libraries(${ARG_NAME} PRIVATE ${dep_target})
  endforeach()
  target_link_libraries(${ARG_NAME} PRIVATE tw_options ${ARG_LIBRARIES})
  file(RELATIVE_PATH z3_folder "${CMAKE_BINARY_DIR}" "${TW_DEPS_DIR}/z3/lib")
  set_target_properties(${ARG_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}"
    BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN/${z3_folder}")
endfunction()
