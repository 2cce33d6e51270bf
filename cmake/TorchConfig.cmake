# find_package(Torch) of a project written for PyTorch finds Shunt: cmake -DTorch_DIR=<prefix>/lib/cmake/shunt-torch.
# Gives TORCH_LIBRARIES, TORCH_INCLUDE_DIRS and the imported targets torch, torch_cpu and c10, which ask for C++20.
include(CMakeFindDependencyMacro)
find_dependency(shunt CONFIG HINTS ${CMAKE_CURRENT_LIST_DIR}/../shunt)

# The include folder of the library beside this file, wherever the whole was moved to.
get_target_property(shunt_torch_include shunt::shunt INTERFACE_INCLUDE_DIRECTORIES)
list(GET shunt_torch_include 0 shunt_torch_include)
set(TORCH_INCLUDE_DIRS ${shunt_torch_include}/shunt-torch)
if(NOT EXISTS ${TORCH_INCLUDE_DIRS}/torch/library.h)
  set(Torch_FOUND FALSE)
  set(Torch_NOT_FOUND_MESSAGE "Shunt's headers for PyTorch's C++ API are not in ${TORCH_INCLUDE_DIRS}")
  return()
endif()
foreach(target torch torch_cpu c10)
  if(NOT TARGET ${target})
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} BEFORE INTERFACE ${TORCH_INCLUDE_DIRS})
    target_link_libraries(${target} INTERFACE shunt::shunt)
    target_compile_features(${target} INTERFACE cxx_std_20)
  endif()
endforeach()
set(TORCH_LIBRARIES torch)
set(TORCH_FOUND TRUE)
set(TORCH_CXX_FLAGS "")
# A project that sets C++17 itself would be compiled as such: Shunt's headers need C++20.
if(DEFINED CMAKE_CXX_STANDARD AND CMAKE_CXX_STANDARD LESS 20)
  set(CMAKE_CXX_STANDARD 20)
endif()
