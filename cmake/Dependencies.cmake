# Libraries that Shunt links. Each is required; the message of a missing one names the package to install.
function(_shunt_require found what package)
  if(NOT ${found})
    message(FATAL_ERROR "Shunt needs ${what}. On Debian: apt-get install ${package} (tests/run installs all packages).")
  endif()
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_package(fmt CONFIG QUIET)
_shunt_require(fmt_FOUND "fmt" libfmt-dev)
find_package(nlohmann_json CONFIG QUIET)
_shunt_require(nlohmann_json_FOUND "nlohmann's JSON headers" nlohmann-json3-dev)
find_package(TBB CONFIG QUIET)
_shunt_require(TBB_FOUND "oneTBB" libtbb-dev)

find_package(ZLIB QUIET)
_shunt_require(ZLIB_FOUND "zlib" zlib1g-dev)

find_path(SHUNT_DNNL_INCLUDE NAMES oneapi/dnnl/dnnl.hpp)
find_library(SHUNT_DNNL_LIBRARY NAMES dnnl)
_shunt_require(SHUNT_DNNL_INCLUDE "oneDNN's headers" libdnnl-dev)
_shunt_require(SHUNT_DNNL_LIBRARY "oneDNN" libdnnl-dev)

find_path(SHUNT_OPENBLAS_INCLUDE NAMES cblas.h
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread openblas)
find_library(SHUNT_OPENBLAS_LIBRARY NAMES openblas PATH_SUFFIXES openblas-pthread)
_shunt_require(SHUNT_OPENBLAS_INCLUDE "OpenBLAS's headers" libopenblas-dev)
_shunt_require(SHUNT_OPENBLAS_LIBRARY "OpenBLAS" libopenblas-dev)

find_path(SHUNT_XSMM_INCLUDE NAMES libxsmm_generator.h)
find_library(SHUNT_XSMM_LIBRARY NAMES libxsmmgen.a)
_shunt_require(SHUNT_XSMM_INCLUDE "LIBXSMM's headers" libxsmm-dev)
_shunt_require(SHUNT_XSMM_LIBRARY "LIBXSMM's generator" libxsmm-dev)

# OpenBLAS is loaded at run time (kernels/linalg/blas.h), not linked.
# One interface target, so that the library and its objects see the same headers.
add_library(shunt_dependencies INTERFACE)
target_include_directories(shunt_dependencies SYSTEM INTERFACE
  ${SHUNT_OPENBLAS_INCLUDE} ${SHUNT_DNNL_INCLUDE} ${SHUNT_XSMM_INCLUDE})
target_link_libraries(shunt_dependencies INTERFACE
  fmt::fmt nlohmann_json::nlohmann_json TBB::tbb TBB::tbbmalloc ZLIB::ZLIB ${SHUNT_DNNL_LIBRARY} ${CMAKE_DL_LIBS} Threads::Threads)

# The generator's only: the library never reads YAML.
find_package(yaml-cpp CONFIG QUIET)
_shunt_require(yaml-cpp_FOUND "yaml-cpp (for the operator generator)" libyaml-cpp-dev)
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
