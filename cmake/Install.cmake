# What is installed, in components, which are the packages' parts (Packages.cmake):
#   runtime      the two libraries
#   development  headers, the CMake and pkg-config packages, what shunt_add_kernels needs, pages and examples
#   tools        bin/shunt with its man page and its completion
#   licence      its text; packages have Debian's copyright file
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shunt)

# Libraries.
set(shunt_libraries shunt)
if(SHUNT_JIT)
  list(APPEND shunt_libraries shunt_jit)
endif()
foreach(library IN LISTS shunt_libraries)
  set(export "")
  if(library STREQUAL shunt)
    set(export EXPORT shuntTargets)
  endif()
  install(TARGETS ${library} ${export}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
shunt_installs(${shunt_libraries})

# Headers. Those for PyTorch's C++ API are apart from Shunt's own: only who asks for them, with Torch_DIR, gets them in a
# libtorch's place.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/shunt ${SHUNT_GENERATED_DIR}/include/shunt
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/compat/ ${SHUNT_COMPAT_GENERATED}/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/shunt-torch COMPONENT development FILES_MATCHING PATTERN "*.h")
add_dependencies(shunt_installed shunt_generated shunt_compat_headers)
shunt_installs(${SHUNT_COMPAT_STAMP})

# The CMake packages, with the recipe for kernels of other projects.
install(EXPORT shuntTargets NAMESPACE shunt:: DESTINATION ${package_dir} COMPONENT development)
set(SHUNT_INSTALLED_KERNEL_LINT ${CMAKE_INSTALL_LIBEXECDIR}/shunt/kernel_lint)
configure_package_config_file(cmake/shuntConfig.cmake.in ${PROJECT_BINARY_DIR}/shuntConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS SHUNT_INSTALLED_KERNEL_LINT NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/shuntConfig.cmake ${PROJECT_BINARY_DIR}/shuntConfigVersion.cmake
  cmake/ShuntAddKernels.cmake cmake/kernel_library.cpp DESTINATION ${package_dir} COMPONENT development)
install(PROGRAMS cmake/embed_bitcode DESTINATION ${package_dir} COMPONENT development)
install(FILES cmake/TorchConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/shunt-torch COMPONENT development)
if(TARGET kernel_lint)
  install(TARGETS kernel_lint RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/shunt COMPONENT development)
  shunt_installs(kernel_lint)
endif()

# pkg-config's file finds the prefix from where it lies itself, however deep the library folder is.
set(shunt_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${shunt_pc_dir} OUTPUT_VARIABLE
  SHUNT_PREFIX_OF_PC)
configure_file(shunt.pc.in ${PROJECT_BINARY_DIR}/shunt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shunt.pc DESTINATION ${shunt_pc_dir} COMPONENT development)

# The tool.
install(TARGETS shunt_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
shunt_installs(shunt_cli)
set(man_page ${PROJECT_BINARY_DIR}/shunt.1)
if(SHUNT_GZIP)
  shunt_compressed(${man_page} FROM tools/shunt/shunt.1.in)
  string(APPEND man_page .gz)
else()
  message(STATUS "Shunt: there is no gzip; the man page is installed as it is")
  configure_file(tools/shunt/shunt.1.in ${man_page} @ONLY)
endif()
install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
install(FILES tools/shunt/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME shunt
  COMPONENT tools)

# Pages and examples, which are a project of their own there.
install(FILES README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development PATTERN build EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)

# Below /usr the loader finds the libraries by itself, and Debian's packages may name no folder.
install(CODE "
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    file(GLOB extensions RELATIVE \"\$ENV{DESTDIR}/usr\" \"\$ENV{DESTDIR}/usr/lib/python3/dist-packages/shunt/_C.*.so\")
    foreach(file \${extensions} ${CMAKE_INSTALL_BINDIR}/shunt ${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:shunt>
        $<$<BOOL:${SHUNT_JIT}>:${CMAKE_INSTALL_LIBDIR}/libshunt_jit.so.${PROJECT_VERSION}>)
      if(EXISTS \"\$ENV{DESTDIR}/usr/\${file}\")
        file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}/usr/\${file}\")
      endif()
    endforeach()
  endif()" ALL_COMPONENTS)

shunt_write_install_check()
