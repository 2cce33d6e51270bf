# Headers for sources written for PyTorch's C++ API: target shunt_torch, and a TorchConfig.cmake that finds them.
set(SHUNT_COMPAT_GENERATED ${PROJECT_BINARY_DIR}/gen/compat)
set(compat_list ${PROJECT_SOURCE_DIR}/cmake/compat_headers.txt)
set(compat_functions ${SHUNT_GENERATED_DIR}/include/shunt/generated/functions.h)
set(SHUNT_COMPAT_STAMP ${PROJECT_BINARY_DIR}/compat_headers.stamp)
add_custom_command(OUTPUT ${SHUNT_COMPAT_STAMP}
  COMMAND ${CMAKE_COMMAND} -DLIST=${compat_list} -DFUNCTIONS=${compat_functions} -DOUT=${SHUNT_COMPAT_GENERATED}
    -P ${PROJECT_SOURCE_DIR}/cmake/write_compat_headers.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${SHUNT_COMPAT_STAMP}
  DEPENDS ${compat_list} ${compat_functions} ${PROJECT_SOURCE_DIR}/cmake/write_compat_headers.cmake
  COMMENT "Writing the headers for sources written for PyTorch"
  VERBATIM)
add_custom_target(shunt_compat_headers ALL DEPENDS ${SHUNT_COMPAT_STAMP})
add_dependencies(shunt_compat_headers shunt)  # whose sources the functions' header is generated with

add_library(shunt_torch INTERFACE)
target_include_directories(shunt_torch INTERFACE ${PROJECT_SOURCE_DIR}/include/compat ${SHUNT_COMPAT_GENERATED})
target_link_libraries(shunt_torch INTERFACE shunt::shunt)
add_dependencies(shunt_torch shunt_compat_headers)
