# Kernels of one's own that Shunt's compiler can inline and specialise as it does the library's.
#
#   shunt_add_kernels(<target> a.cpp ... [OPTIONS -march=x86-64-v3 ...])
#
# adds sources to <target>, a program or a shared library, compiled with its include directories and definitions: to machine
# code and, in the same object, to bitcode that the compiler reads when a pair of theirs gets hot. They are compiled by clang 19,
# whatever compiles the rest of the target, with OPTIONS and not with the target's own. Where clang++-19 or llvm-objcopy-19 is
# not found the sources are compiled like any others: their kernels work, and thunks call them.
#
# The build refuses what would make results depend on whether the compiler has run yet: calls of the C library's maths,
# fast-math, mutable static variables that kernels reach. The message says which.
include_guard(GLOBAL)

find_program(SHUNT_KERNEL_COMPILER NAMES clang++-19 DOC "Compiles kernels to machine code and bitcode")
find_program(SHUNT_KERNEL_OBJCOPY NAMES llvm-objcopy-19 DOC "Keeps the bitcode in kernels' objects")
set(SHUNT_KERNEL_TOOLS ${CMAKE_CURRENT_LIST_DIR})

# The bits of the dictionary's kernels, and names that stay apart: those of unnamed namespaces by their source, all others by
# not leaving the library.
set(SHUNT_KERNEL_FLAGS -std=c++20 -O2 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-semantic-interposition
  -fno-math-errno -ffp-contract=off -fwrapv -funique-internal-linkage-names)

function(shunt_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS")
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "shunt_add_kernels(${target}): expected a program or a shared library, which is what makes its kernels "
      "known when it is loaded; got ${type}.")
  endif()
  set(lint "${SHUNT_INSTALLED_KERNEL_LINT}")
  if(TARGET kernel_lint)  # in Shunt's own build
    set(lint $<TARGET_FILE:kernel_lint>)
  elseif(NOT EXISTS "${lint}")
    set(lint "")
  endif()
  if(NOT SHUNT_KERNEL_COMPILER OR NOT SHUNT_KERNEL_OBJCOPY OR NOT lint)
    message(STATUS "${target}: kernels without bitcode (they need clang++-19, llvm-objcopy-19 and a Shunt with its compiler)")
    target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
    set_property(SOURCE ${arg_UNPARSED_ARGUMENTS} APPEND PROPERTY COMPILE_OPTIONS ${arg_OPTIONS})
    return()
  endif()
  set(includes "$<FILTER:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,INCLUDE,.>")
  set(definitions $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
    string(MAKE_C_IDENTIFIER "${source}" name)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels/${name}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels
      COMMAND ${SHUNT_KERNEL_TOOLS}/embed_bitcode ${SHUNT_KERNEL_OBJCOPY} one-pass ${SHUNT_KERNEL_COMPILER}
        "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>" "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
        ${SHUNT_KERNEL_FLAGS} ${arg_OPTIONS} -MD -MT ${object} -MF ${object}.d -c ${path} -o ${object}.unchecked.o
      COMMAND ${lint} --own ${object}.unchecked.o
      COMMAND ${CMAKE_COMMAND} -E rename ${object}.unchecked.o ${object}
      DEPENDS ${path} ${SHUNT_KERNEL_TOOLS}/embed_bitcode ${lint}
      DEPFILE ${object}.d
      COMMENT "Compiling the kernels of ${source} with bitcode"
      VERBATIM COMMAND_EXPAND_LISTS)
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  endforeach()
  get_target_property(known ${target} SHUNT_HAS_KERNELS)
  if(NOT known)
    set_target_properties(${target} PROPERTIES SHUNT_HAS_KERNELS TRUE LINKER_LANGUAGE CXX)
    target_sources(${target} PRIVATE ${SHUNT_KERNEL_TOOLS}/kernel_library.cpp)
    # The bitcode is reached by the section's bounds alone.
    target_link_options(${target} PRIVATE LINKER:-z,nostart-stop-gc)
    # Templates' statics would keep the library loaded for good.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  endif()
endfunction()
