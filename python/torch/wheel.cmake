# For scikit-build-core: defines shunt::shunt for the extension, by SHUNT_RUNTIME_FROM or from <sources>/build/runtime; or, where
# SHUNT_RUNTIME_FROM is a build folder that has the extension for this Python, packs that one and sets shunt_torch_is_packed.
include(../shunt_tree.cmake)
install(FILES ${shunt_sources}/LICENSE DESTINATION ${SKBUILD_METADATA_DIR}/licenses)

set(shunt_torch_is_packed OFF)
if(EXISTS ${SHUNT_RUNTIME_FROM}/python/shunt_torch/_C.${SKBUILD_SOABI}.so)
  set(shunt_torch_is_packed ON)
  shunt_runtime_tree(tree)
  message(STATUS "Shunt: packing the extension that is built in ${tree}")
  install(CODE "
    execute_process(COMMAND \${CMAKE_COMMAND} --install \"${tree}\" --prefix \${CMAKE_INSTALL_PREFIX} --component torch --strip
      OUTPUT_QUIET RESULT_VARIABLE failed)
    if(failed OR NOT EXISTS \${CMAKE_INSTALL_PREFIX}/shunt_torch/_C.${SKBUILD_SOABI}.so)
      message(FATAL_ERROR \"shunt_torch can't be installed from ${tree}: the message above says why, or it is of an earlier \"
        \"configuration, and without SHUNT_TORCH_PYTHON now.\")
    endif()")
  return()
endif()

if(EXISTS ${SHUNT_RUNTIME_FROM}/lib/cmake/shunt/shuntConfig.cmake)  # installed
  find_package(shunt ${SKBUILD_PROJECT_VERSION} REQUIRED CONFIG PATHS ${SHUNT_RUNTIME_FROM} NO_DEFAULT_PATH)
  return()
endif()

# A library that is built beside the extension, described as its own CMake package would.
shunt_runtime_tree(tree TARGETS shunt shunt_generated)
add_library(shunt::shunt SHARED IMPORTED)
set_target_properties(shunt::shunt PROPERTIES
  IMPORTED_LOCATION ${tree}/lib/libshunt.so
  INTERFACE_COMPILE_FEATURES cxx_std_20
  INTERFACE_INCLUDE_DIRECTORIES "${shunt_sources}/include;${tree}/gen/include")
file(MAKE_DIRECTORY ${tree}/gen/include)
if(TARGET shunt_runtime_build)
  add_dependencies(shunt::shunt shunt_runtime_build)
endif()
