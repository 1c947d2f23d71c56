# SPDX-License-Identifier: Apache-2.0
# Only find_package and find_library: nothing is downloaded at configure time (scripts/setup.sh installs what is missing).

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
# The archive where there is one: the installed program must start on machines that lack the library.
find_library(SQLite3_LIBRARY NAMES libsqlite3.a sqlite3)
find_package(SQLite3 REQUIRED)
find_package(Threads REQUIRED)
if(SQLite3_LIBRARY MATCHES "\\.a$")
  set_property(TARGET SQLite::SQLite3 APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
if(TW_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Z3 comes from the pinned wheel that scripts/setup.sh unpacks, so that no verdict depends on the distribution's version.
set(TW_DEPS_DIR "${CMAKE_SOURCE_DIR}/build/deps" CACHE PATH "where scripts/setup.sh puts pinned packages")
find_path(TW_Z3_INCLUDE_DIR z3++.h PATHS "${TW_DEPS_DIR}/z3/include" NO_DEFAULT_PATH REQUIRED)
find_library(TW_Z3_LIBRARY z3 PATHS "${TW_DEPS_DIR}/z3/lib" NO_DEFAULT_PATH REQUIRED)
add_library(z3::z3 SHARED IMPORTED)
set_target_properties(z3::z3 PROPERTIES
  IMPORTED_LOCATION "${TW_Z3_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${TW_Z3_INCLUDE_DIR}")
