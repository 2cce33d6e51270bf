# Headers, library, CMake package and pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS shunt EXPORT shuntTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/shunt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${SHUNT_GENERATED_DIR}/include/shunt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)
install(EXPORT shuntTargets NAMESPACE shunt:: DESTINATION ${package_dir})
set(SHUNT_INSTALLED_KERNEL_LINT ${CMAKE_INSTALL_LIBEXECDIR}/shunt/kernel_lint)
configure_package_config_file(cmake/shuntConfig.cmake.in ${PROJECT_BINARY_DIR}/shuntConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS SHUNT_INSTALLED_KERNEL_LINT NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shuntConfig.cmake ${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake
  DESTINATION ${package_dir})
# Kernels of other projects.
install(FILES cmake/ShuntAddKernels.cmake cmake/kernel_library.cpp DESTINATION ${package_dir})
install(PROGRAMS cmake/embed_bitcode DESTINATION ${package_dir})
if(TARGET kernel_lint)
  install(TARGETS kernel_lint RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/shunt)
endif()

configure_file(shunt.pc.in ${PROJECT_BINARY_DIR}/shunt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shunt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
