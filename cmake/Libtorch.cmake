# shunt_libtorch_objects(<target> SOURCES a.cpp ...): compiles sources that include PyTorch's headers with g++ and links
# the objects and libtorch into <target>. libtorch 1.13's headers don't compile with clang 19 in C++20, and one CMake
# project has one C++ compiler: hence custom commands. Sets SHUNT_HAS_LIBTORCH.
set(SHUNT_HAS_LIBTORCH OFF)
if(SHUNT_LIBTORCH STREQUAL "OFF")
  message(STATUS "Shunt: SHUNT_LIBTORCH=OFF, no parity tests and no comparison benches")
  return()
endif()

find_path(SHUNT_TORCH_INCLUDE NAMES torch/csrc/api/include/torch/torch.h)
find_library(SHUNT_TORCH_LIBRARY NAMES torch)
find_library(SHUNT_TORCH_CPU_LIBRARY NAMES torch_cpu)
find_library(SHUNT_C10_LIBRARY NAMES c10)
find_program(SHUNT_GXX NAMES g++-12 g++)
# Another version differs in results, and its headers in what the tests use.
set(torch_version "")
if(SHUNT_TORCH_INCLUDE AND EXISTS ${SHUNT_TORCH_INCLUDE}/torch/csrc/api/include/torch/version.h)
  file(STRINGS ${SHUNT_TORCH_INCLUDE}/torch/csrc/api/include/torch/version.h torch_version
    REGEX "^#define TORCH_VERSION_(MAJOR|MINOR)")
  string(REGEX MATCHALL "[0-9]+" torch_version "${torch_version}")
  list(JOIN torch_version "." torch_version)
endif()
if(torch_version AND NOT torch_version STREQUAL "1.13")
  if(SHUNT_LIBTORCH STREQUAL "ON")
    message(FATAL_ERROR "SHUNT_LIBTORCH=ON needs libtorch 1.13, as in Debian 12; here is ${torch_version}.")
  endif()
  message(STATUS "Shunt: libtorch is ${torch_version}, not 1.13: no parity tests and no comparison benches")
elseif(SHUNT_TORCH_INCLUDE AND SHUNT_TORCH_LIBRARY AND SHUNT_TORCH_CPU_LIBRARY AND SHUNT_C10_LIBRARY AND SHUNT_GXX)
  set(SHUNT_HAS_LIBTORCH ON)
  message(STATUS "Shunt: libtorch found (${SHUNT_TORCH_LIBRARY}), parity tests and comparison benches are on")
elseif(SHUNT_LIBTORCH STREQUAL "ON")
  message(FATAL_ERROR "SHUNT_LIBTORCH=ON needs libtorch and g++. On Debian: apt-get install libtorch-dev g++.")
else()
  message(STATUS "Shunt: libtorch or g++ not found, no parity tests and no comparison benches "
    "(tests/run --with-libtorch installs them)")
endif()

# The same rules for numbers as shunt_flags, in g++'s spelling; its headers warn, so they come in as system headers.
set(SHUNT_LIBTORCH_FLAGS -std=c++20 -O2 -fPIC -fwrapv -ffp-contract=off -fno-math-errno)

# A source of several targets is compiled once, for the first of them: its headers take a quarter of a minute.
# UNOPTIMISED: two thirds of the seconds, for tests, where libtorch itself does what takes time.
function(shunt_libtorch_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNOPTIMISED" "" "SOURCES")
  if(NOT SHUNT_HAS_LIBTORCH)
    message(FATAL_ERROR "shunt_libtorch_objects(${target}) called without libtorch: test SHUNT_HAS_LIBTORCH first.")
  endif()
  set(includes "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  set(generated "")
  set(optimisation "")
  if(arg_UNOPTIMISED)
    set(optimisation -O0)
  endif()
  if(TARGET shunt_generated)
    set(generated shunt_generated)
  endif()
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${path})
    string(MAKE_C_IDENTIFIER "libtorch${optimisation}_${relative}" stem)
    set(object ${PROJECT_BINARY_DIR}/libtorch/${stem}.o)
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    add_dependencies(${target} ${stem})
    if(TARGET ${stem})
      continue()
    endif()
    add_custom_target(${stem} DEPENDS ${object})
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/libtorch
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${SHUNT_GXX} ${SHUNT_LIBTORCH_FLAGS} ${optimisation}
        "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
        -isystem ${SHUNT_TORCH_INCLUDE}/torch/csrc/api/include
        -MD -MF ${object}.d -c ${path} -o ${object}
      DEPENDS ${path} ${generated}
      DEPFILE ${object}.d
      COMMENT "Compiling ${relative} with g++ against libtorch"
      COMMAND_EXPAND_LISTS VERBATIM)
  endforeach()
  target_link_libraries(${target} PRIVATE ${SHUNT_TORCH_LIBRARY} ${SHUNT_TORCH_CPU_LIBRARY} ${SHUNT_C10_LIBRARY})
endfunction()
