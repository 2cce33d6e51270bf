# For the CMake projects of the Python packages, whose sources are a checkout's: where Shunt is built, and how.
set(SHUNT_RUNTIME_FROM "" CACHE PATH "Build folder of Shunt to use as it is, with its target shunt_installed built; empty: builds one")
set(SHUNT_RUNTIME_ARGUMENTS "" CACHE STRING "Further arguments for cmake, a list, where Shunt is built")
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH shunt_sources)

function(shunt_runtime_cannot_build why)
  # tools/deps.sh has the one list of packages.
  execute_process(COMMAND bash -c "source '${shunt_sources}/tools/deps.sh'; echo \${shunt_library_packages[*]}"
    OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  message(FATAL_ERROR "${why} Debian 12 and 13 have all that Shunt is built with: apt-get install ${packages}")
endfunction()

# shunt_runtime_tree(<variable> TARGETS t...): the build folder. Without SHUNT_RUNTIME_FROM it is
# <sources>/build/runtime, for all packages, and the target shunt_runtime_build builds the targets in it; an earlier
# build's objects are used again, its settings are not.
function(shunt_runtime_tree variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "TARGETS")
  if(SHUNT_RUNTIME_FROM)
    cmake_path(SET tree NORMALIZE ${SHUNT_RUNTIME_FROM})
    if(NOT EXISTS ${tree}/cmake_install.cmake)
      message(FATAL_ERROR "SHUNT_RUNTIME_FROM is ${tree}, which is not a folder where Shunt is built.")
    endif()
  else()
    find_program(SHUNT_RUNTIME_COMPILER NAMES clang++-19 clang++)
    if(NOT SHUNT_RUNTIME_COMPILER)
      shunt_runtime_cannot_build("Shunt is built by clang 19, and there is no clang++-19.")
    endif()
    set(tree ${shunt_sources}/build/runtime)
    execute_process(COMMAND ${CMAKE_COMMAND} --fresh -S ${shunt_sources} -B ${tree} -G ${CMAKE_GENERATOR}
        -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM} -DCMAKE_CXX_COMPILER=${SHUNT_RUNTIME_COMPILER} -DCMAKE_BUILD_TYPE=Release
        -DCMAKE_INSTALL_LIBDIR=lib -DSHUNT_TESTS=OFF -DSHUNT_BENCH=OFF -DSHUNT_EXAMPLES=OFF -DSHUNT_LIBTORCH=OFF
        ${SHUNT_RUNTIME_ARGUMENTS}
      RESULT_VARIABLE failed)
    if(failed)
      shunt_runtime_cannot_build("Shunt can't be configured; the message above says what is missing.")
    endif()
    include(${tree}/python_extension.cmake)
    add_custom_target(shunt_runtime_build ALL
      COMMAND ${CMAKE_COMMAND} --build ${tree} --target ${arg_TARGETS}
      BYPRODUCTS ${tree}/lib/libshunt.so ${SHUNT_GENERATED_PYTHON} ${SHUNT_GENERATED_STUB} USES_TERMINAL)
  endif()
  set(${variable} ${tree} PARENT_SCOPE)
endfunction()

# shunt_pack_extension(<variable> MODULE m COMPONENT c): where SHUNT_RUNTIME_FROM is a build folder that has the
# extension of the package m for this Python, packs that one, compiles nothing, and sets the variable.
function(shunt_pack_extension variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODULE;COMPONENT" "")
  set(extension ${arg_MODULE}/_C.${SKBUILD_SOABI}.so)
  set(${variable} OFF PARENT_SCOPE)
  if(NOT EXISTS ${SHUNT_RUNTIME_FROM}/python/${extension})
    return()
  endif()
  set(${variable} ON PARENT_SCOPE)
  shunt_runtime_tree(tree)
  message(STATUS "Shunt: packing the extension that is built in ${tree}")
  install(CODE "
    execute_process(COMMAND \${CMAKE_COMMAND} --install \"${tree}\" --prefix \${CMAKE_INSTALL_PREFIX}
        --component ${arg_COMPONENT} --strip
      OUTPUT_QUIET RESULT_VARIABLE failed)
    if(failed OR NOT EXISTS \${CMAKE_INSTALL_PREFIX}/${extension})
      message(FATAL_ERROR \"${arg_MODULE} can't be installed from ${tree}: the message above says why, or it is of an earlier \"
        \"configuration, and without the Python that it was built for now.\")
    endif()")
endfunction()

# shunt_import_library(<variable> TARGETS t...): defines shunt::shunt, the library that is built in the tree of
# shunt_runtime_tree, as Shunt's own CMake package would describe it.
function(shunt_import_library variable)
  shunt_runtime_tree(tree ${ARGN})
  set(${variable} ${tree} PARENT_SCOPE)
  add_library(shunt::shunt SHARED IMPORTED GLOBAL)
  set_target_properties(shunt::shunt PROPERTIES
    IMPORTED_LOCATION ${tree}/lib/libshunt.so
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES "${shunt_sources}/include;${tree}/gen/include")
  file(MAKE_DIRECTORY ${tree}/gen/include)
  if(TARGET shunt_runtime_build)
    add_dependencies(shunt::shunt shunt_runtime_build)
  endif()
endfunction()
