# How kernel sources are compiled.
#
#   shunt_kernel_objects(<target> SOURCES a.cpp ...)   wrappers and generic loops: one compilation gives the machine code
#       and, in section shunt_bc, the unvectorised bitcode that the JIT specialises later.
#   shunt_isa_objects(<target> SOURCES loops.cpp ...)  ahead-of-time loops: every source once per instruction set, with
#       SHUNT_ISA_NAMESPACE=baseline|v3|v4, no bitcode. SHUNT_ISA_LEVELS names the sets; sources that list them all include
#       shunt/core/isa.h, and are compiled again when it changes. Such an object may define no weak symbol (constant data apart) and
#       no static initialiser: the linker could pick a v4 copy of a shared inline function for every CPU. Give everything
#       internal linkage or put it inside namespace SHUNT_ISA_NAMESPACE.
#   shunt_lint_kernels(<target>)                       once, after all of the above: kernel_lint as part of `all`.
#
# Both compile with the include directories, definitions and options of <target> and link into it. Kernels are optimised in
# every configuration, also in Debug: -O0 bitcode can't be specialised, and un-inlined helpers would be weak symbols.
set(SHUNT_PER_ISA "")  # cmake/isa_levels.h.in
foreach(level baseline v3 v4)
  if(level IN_LIST SHUNT_ISA_LEVELS)
    list(APPEND SHUNT_PER_ISA "X(${level})")
  else()
    list(APPEND SHUNT_PER_ISA "{}")
  endif()
endforeach()
list(JOIN SHUNT_PER_ISA ", " SHUNT_PER_ISA)
foreach(level IN LISTS SHUNT_ISA_LEVELS)
  if(NOT level MATCHES "^(baseline|v3|v4)$")
    message(FATAL_ERROR "SHUNT_ISA_LEVELS holds \"${level}\"; it is a list of baseline, v3 and v4.")
  endif()
endforeach()
if(NOT SHUNT_ISA_LEVELS)
  message(FATAL_ERROR "SHUNT_ISA_LEVELS is empty; it is a list of baseline, v3 and v4.")
endif()
set(SHUNT_ISA_FLAGS_baseline "")
set(SHUNT_ISA_FLAGS_v3 -march=x86-64-v3)
set(SHUNT_ISA_FLAGS_v4 -march=x86-64-v4)
set(SHUNT_EMBED_BITCODE ${CMAKE_CURRENT_LIST_DIR}/embed_bitcode)

if(SHUNT_JIT)
  find_program(SHUNT_OBJCOPY NAMES llvm-objcopy-19)
  if(NOT SHUNT_OBJCOPY)
    message(FATAL_ERROR "llvm-objcopy-19 is needed to embed the kernels' bitcode: install llvm-19, "
      "or configure with -DSHUNT_JIT=OFF.")
  endif()
endif()

# An object library that compiles like <target> and is linked into it. Its name comes from the calling folder, which may
# call again: later libraries get a number.
function(_shunt_object_library out target kind)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(MAKE_C_IDENTIFIER "${folder}" folder)
  set(name ${target}_${kind}_${folder})
  set(number 2)
  while(TARGET ${name})
    set(name ${target}_${kind}_${folder}_${number})
    math(EXPR number "${number} + 1")
  endwhile()
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${name} PRIVATE cxx_std_20)
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set(inherited $<TARGET_PROPERTY:${target},${property}>)
    set_property(TARGET ${name} APPEND PROPERTY ${property} ${inherited})
  endforeach()
  if(TARGET ${target}_generated)
    add_dependencies(${name} ${target}_generated)
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${name}>)
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# Precompiled headers, one set for each kind of object since options must agree, shared by all folders. Sources still include
# what they use: the debug preset builds without. shunt/ops.h is not among them: a kernel's unqualified call must not find the
# operator of its name.
set(SHUNT_KERNEL_HEADERS
  <algorithm> <array> <cstring> <limits> <memory> <optional> <string> <string_view> <vector>
  <shunt/autograd/variable_utils.h> <shunt/core/error.h> <shunt/core/kernel_function.h> <shunt/core/tls.h>
  <shunt/tensor/tensor.h>)
set(SHUNT_ISA_HEADERS
  <algorithm> <array> <cmath> <cstdint> <limits>
  <shunt/elementwise/loop_types.h> <shunt/elementwise/kernel_descriptor.h> <shunt/elementwise/typed_loop.h>)

# Lets <objects>, one of shunt's object libraries, use the precompiled headers of its kind. Call it last: the library of the
# headers copies its options.
function(_shunt_precompile objects kind)
  set(owner shunt_${kind}_headers)
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Compiles the precompiled headers.\n")
    add_library(${owner} OBJECT ${source})
    set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_features(${owner} PRIVATE cxx_std_20)
    foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS CXX_COMPILER_LAUNCHER)
      get_target_property(value ${objects} ${property})
      if(value)
        set_property(TARGET ${owner} PROPERTY ${property} "${value}")
      endif()
    endforeach()
    target_precompile_headers(${owner} PRIVATE ${ARGN})
    add_dependencies(${owner} shunt_generated)
  endif()
  target_precompile_headers(${objects} REUSE_FROM ${owner})
endfunction()

# Instrumented loops can't be vectorised, and trying costs most of a sanitizer build's time. Of the generic loops the bitcode
# counts, which is not instrumented.
if(SHUNT_SANITIZE)
  set(SHUNT_KERNEL_OPTIMISATION -O2 -Wno-pass-failed)
  set(SHUNT_ISA_OPTIMISATION -O1 -Wno-pass-failed)
else()
  set(SHUNT_KERNEL_OPTIMISATION -O2)
  set(SHUNT_ISA_OPTIMISATION -O3)
endif()

function(shunt_kernel_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES)
    return()
  endif()
  _shunt_object_library(objects ${target} kernels ${arg_SOURCES})
  target_compile_options(${objects} PRIVATE ${SHUNT_KERNEL_OPTIMISATION})
  if(SHUNT_JIT)
    _shunt_embed_bitcode(${target} ${objects} ${arg_SOURCES})
  endif()
  if(target STREQUAL shunt)
    _shunt_precompile(${objects} kernel ${SHUNT_KERNEL_HEADERS})
  endif()
endfunction()

function(_shunt_embed_bitcode target objects)
  set_property(GLOBAL APPEND PROPERTY ${target}_KERNEL_OBJECTS ${objects})
  # A sanitizer has already rewritten the bitcode that comes with its object, so there it takes a second compilation.
  set(mode one-pass)
  if(SHUNT_SANITIZE)
    set(mode two-pass)
  endif()
  set_property(TARGET ${objects} PROPERTY
    CXX_COMPILER_LAUNCHER ${SHUNT_EMBED_BITCODE} ${SHUNT_OBJCOPY} ${mode} ${CMAKE_CXX_COMPILER_LAUNCHER})
  set_property(SOURCE ${ARGN} APPEND PROPERTY OBJECT_DEPENDS ${SHUNT_EMBED_BITCODE})
endfunction()

function(shunt_isa_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
  if(NOT arg_SOURCES)
    return()
  endif()
  foreach(level IN LISTS SHUNT_ISA_LEVELS)
    _shunt_object_library(objects ${target} isa_${level} ${arg_SOURCES})
    target_compile_definitions(${objects} PRIVATE SHUNT_ISA_NAMESPACE=${level})
    # No exceptions: a frame that can clean up needs the weak DW.ref of the personality routine.
    target_compile_options(${objects} PRIVATE
      ${SHUNT_ISA_OPTIMISATION} -ffp-contract=off -fno-exceptions ${SHUNT_ISA_FLAGS_${level}})
    set_property(GLOBAL APPEND PROPERTY ${target}_ISA_OBJECTS ${objects})
    if(target STREQUAL shunt)
      _shunt_precompile(${objects} isa_${level} ${SHUNT_ISA_HEADERS})
    endif()
  endforeach()
endfunction()

# Writes the paths of all objects of the given object libraries to a file, one a line.
function(_shunt_list_objects file)
  set(content "")
  foreach(library IN LISTS ARGN)
    string(APPEND content "$<JOIN:$<TARGET_OBJECTS:${library}>,\n>\n")
  endforeach()
  file(GENERATE OUTPUT ${file} CONTENT "${content}")
endfunction()

function(shunt_lint_kernels target)
  if(NOT TARGET kernel_lint)
    return()
  endif()
  get_property(kernels GLOBAL PROPERTY ${target}_KERNEL_OBJECTS)
  get_property(isa GLOBAL PROPERTY ${target}_ISA_OBJECTS)
  if(SHUNT_SANITIZE)
    set(isa "")  # instrumented objects always have the sanitizer's module constructor
  endif()
  if(NOT kernels AND NOT isa)
    return()
  endif()
  set(stamp ${PROJECT_BINARY_DIR}/${target}_kernel_lint.stamp)
  set(lists ${PROJECT_BINARY_DIR}/${target}_kernel_objects)
  _shunt_list_objects(${lists}.txt ${kernels})
  _shunt_list_objects(${lists}_isa.txt ${isa})
  set(objects "")
  foreach(library IN LISTS kernels isa)
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endforeach()
  add_custom_command(OUTPUT ${stamp}
    COMMAND kernel_lint --bitcode-list ${lists}.txt --isa-list ${lists}_isa.txt
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS kernel_lint ${objects} ${lists}.txt ${lists}_isa.txt
    COMMENT "Checking the kernels of ${target}"
    VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(${target}_kernel_lint ALL DEPENDS ${stamp})
endfunction()
