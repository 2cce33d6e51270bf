# For scikit-build-core: defines shunt::shunt for the extension, by SHUNT_RUNTIME_FROM or from <sources>/build/runtime; or, where
# SHUNT_RUNTIME_FROM is a build folder that has the extension for this Python, packs that one and sets shunt_torch_is_packed.
include(../shunt_tree.cmake)
install(FILES ${shunt_sources}/LICENSE DESTINATION ${SKBUILD_METADATA_DIR}/licenses)

shunt_pack_extension(shunt_torch_is_packed MODULE shunt_torch COMPONENT torch)
if(shunt_torch_is_packed)
  return()
endif()
if(EXISTS ${SHUNT_RUNTIME_FROM}/lib/cmake/shunt/shuntConfig.cmake)  # installed
  find_package(shunt ${SKBUILD_PROJECT_VERSION} REQUIRED CONFIG PATHS ${SHUNT_RUNTIME_FROM} NO_DEFAULT_PATH)
  return()
endif()
shunt_import_library(tree TARGETS shunt shunt_generated)
