# The one place for compiler and linker flags of Shunt's own targets. Never exported, so that whoever links shunt::shunt
# gets include directories and C++20 from us and nothing else.
#   shunt_flags       everything that is part of the library or tests it
#   shunt_host_flags  the same without sanitizers: tools that run during the build, and what links libLLVM, whose
#                     uninstrumented allocators give false reports when our half of them is instrumented
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "Shunt is built with clang 19 or newer, found ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. Install "
    "clang-19 and configure with a preset (cmake --preset release) or -DCMAKE_CXX_COMPILER=clang++-19. Programs that "
    "use the installed library may be built with g++ 12 or newer.")
endif()

add_library(shunt_host_flags INTERFACE)
target_compile_features(shunt_host_flags INTERFACE cxx_std_20)
target_compile_options(shunt_host_flags INTERFACE
  -Wall -Wextra -Wthread-safety -Werror=thread-safety
  -fvisibility=hidden -fvisibility-inlines-hidden
  # Same bits in the interpreter, in every vector width and in a thunk; integers wrap as PyTorch's do.
  -fno-math-errno -ffp-contract=off -fwrapv
  -fno-semantic-interposition
  # Errors name sources as the project does, and installed libraries no folder of the build.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  # A target with SHUNT_UNOPTIMISED is compiled without optimisation in every configuration.
  $<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:$<TARGET_PROPERTY:SHUNT_UNOPTIMISED>>>>:-O2>
  $<$<BOOL:$<TARGET_PROPERTY:SHUNT_UNOPTIMISED>>:-O0>)
if(SHUNT_WERROR)
  target_compile_options(shunt_host_flags INTERFACE -Werror)
endif()

find_program(SHUNT_LLD NAMES ld.lld-19)
if(SHUNT_LLD)
  target_link_options(shunt_host_flags INTERFACE -fuse-ld=lld)
else()
  message(STATUS "Shunt: lld-19 not found, linking with the system's linker")
endif()
# The disk cache of compiled thunks is keyed by build ids.
target_link_options(shunt_host_flags INTERFACE LINKER:--build-id=sha1 LINKER:-z,relro LINKER:-z,now)

add_library(shunt_flags INTERFACE)
target_link_libraries(shunt_flags INTERFACE shunt_host_flags)
if(SHUNT_SANITIZE)
  target_compile_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(shunt_flags INTERFACE -fsanitize=${SHUNT_SANITIZE})
  if(SHUNT_SANITIZE MATCHES "address")
    # A sixth of the compile time, for accesses whose object is known: AddressSanitizer sees all of them when they run.
    target_compile_options(shunt_flags INTERFACE -fno-sanitize=object-size)
  endif()
  # clang says so only where it instruments, and the bitcode, which it doesn't, must agree with the library.
  foreach(sanitizer thread address)
    if(SHUNT_SANITIZE MATCHES ${sanitizer})
      string(TOUPPER ${sanitizer} name)
      target_compile_definitions(shunt_flags INTERFACE __SANITIZE_${name}__=1)
    endif()
  endforeach()
else()
  # Sanitizer runtimes live in the executable, so only a plain library can be checked for missing symbols.
  target_link_options(shunt_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>:LINKER:-z,defs>)
endif()
