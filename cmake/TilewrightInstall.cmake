# SPDX-License-Identifier: Apache-2.0
# `cmake --install` makes one relocatable folder: bin/tilewright (and tw), lib/ with the libraries that cannot be
# static, share/tilewright/ with what the program reads. NVRTC stays out: it is three times as large as all the rest,
# and the machines that need it have a toolkit.

if(NOT TARGET tilewright)
  return()
endif()

install(TARGETS tilewright RUNTIME DESTINATION bin)
install(CODE [[
  file(CREATE_LINK tilewright "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/bin/tw" SYMBOLIC)
]])
# What the program loads beyond the C and C++ run-time libraries, under the names it asks for.
install(CODE "set(program \"$<TARGET_FILE:tilewright>\")")
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${program}" RESOLVED_DEPENDENCIES_VAR libraries
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so" "^ld-linux")
  foreach(library IN LISTS libraries)
    file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/lib" TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN FILES "${library}")
  endforeach()
]])
foreach(folder kernels knowledge tasks)
  if(EXISTS "${CMAKE_SOURCE_DIR}/${folder}")
    install(DIRECTORY "${CMAKE_SOURCE_DIR}/${folder}" DESTINATION share/tilewright)
  endif()
endforeach()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs/diagnostics" DESTINATION share/tilewright/docs)
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION share/tilewright)
