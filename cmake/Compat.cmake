# Headers for sources written for PyTorch's C++ API: target shunt_torch, and a TorchConfig.cmake that finds them.
set(SHUNT_COMPAT_GENERATED ${PROJECT_BINARY_DIR}/gen/compat)
set(compat_list ${PROJECT_SOURCE_DIR}/cmake/compat_headers.txt)
set(compat_functions ${SHUNT_GENERATED_DIR}/include/shunt/generated/functions.h)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/compat_headers.stamp
  COMMAND ${CMAKE_COMMAND} -DLIST=${compat_list} -DFUNCTIONS=${compat_functions} -DOUT=${SHUNT_COMPAT_GENERATED}
    -P ${PROJECT_SOURCE_DIR}/cmake/write_compat_headers.cmake
  COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/compat_headers.stamp
  DEPENDS ${compat_list} ${compat_functions} ${PROJECT_SOURCE_DIR}/cmake/write_compat_headers.cmake
  COMMENT "Writing the headers for sources written for PyTorch"
  VERBATIM)
add_custom_target(shunt_compat_headers ALL DEPENDS ${PROJECT_BINARY_DIR}/compat_headers.stamp)
add_dependencies(shunt_compat_headers shunt)  # whose sources the functions' header is generated with

add_library(shunt_torch INTERFACE)
target_include_directories(shunt_torch INTERFACE ${PROJECT_SOURCE_DIR}/include/compat ${SHUNT_COMPAT_GENERATED})
target_link_libraries(shunt_torch INTERFACE shunt::shunt)
add_dependencies(shunt_torch shunt_compat_headers)

# Apart from Shunt's own headers and packages: only who asks for them, with Torch_DIR, gets them in a libtorch's place.
set(compat_include ${CMAKE_INSTALL_INCLUDEDIR}/shunt-torch)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/compat/ ${SHUNT_COMPAT_GENERATED}/ DESTINATION ${compat_include}
  FILES_MATCHING PATTERN "*.h")
install(FILES cmake/TorchConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shunt-torch)
