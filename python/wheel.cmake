# For scikit-build-core: prepares the wheel shunt. Defines shunt::shunt for the extension, and what is generated for
# it, in SHUNT_RUNTIME_FROM or in <sources>/build/runtime; or, where SHUNT_RUNTIME_FROM has the extension for this
# Python, packs that one and sets shunt_python_is_packed.
include(shunt_tree.cmake)
install(FILES ${shunt_sources}/LICENSE DESTINATION ${SKBUILD_METADATA_DIR}/licenses)

shunt_pack_extension(shunt_python_is_packed MODULE shunt COMPONENT python)
if(shunt_python_is_packed)
  return()
endif()
if(EXISTS ${SHUNT_RUNTIME_FROM}/lib/cmake/shunt/shuntConfig.cmake)
  message(FATAL_ERROR "SHUNT_RUNTIME_FROM is ${SHUNT_RUNTIME_FROM}, where Shunt is installed. The package shunt is "
    "compiled with generated sources that no installation has: name a folder where Shunt is built.")
endif()
shunt_import_library(tree TARGETS shunt shunt_generated)
include(${tree}/python_extension.cmake)
set_source_files_properties(${SHUNT_GENERATED_PYTHON} ${SHUNT_GENERATED_STUB} PROPERTIES GENERATED ON)
add_custom_target(shunt_generated)
if(TARGET shunt_runtime_build)
  add_dependencies(shunt_generated shunt_runtime_build)
endif()

# The compiler of the library, and its cache.
load_cache(${tree} READ_WITH_PREFIX tree_ CMAKE_CXX_COMPILER SHUNT_CCACHE)
set(CMAKE_CXX_COMPILER ${tree_CMAKE_CXX_COMPILER})
if(tree_SHUNT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${shunt_sources}/tools/cached_compile ${tree_SHUNT_CCACHE} ${shunt_sources})
endif()
