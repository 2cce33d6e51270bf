# shunt_host_symbols(<target>): the shared library <target> carries the table of the symbols that its kernels define or use,
# by which compiled code is bound to it (jit/host/host_symbols.h). Written before each link, from the objects themselves.
# Call it where <target> is created.
function(shunt_host_symbols target)
  if(NOT SHUNT_JIT)
    return()
  endif()
  set(table ${PROJECT_BINARY_DIR}/${target}_host_symbols)
  file(GENERATE OUTPUT ${table}_others.txt
    CONTENT "$<JOIN:$<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,\\.pch$>,\n>\n")
  add_custom_command(TARGET ${target} PRE_LINK
    COMMAND host_symbols --kernels ${PROJECT_BINARY_DIR}/${target}_kernel_objects.txt
      --others ${PROJECT_BINARY_DIR}/${target}_kernel_objects_isa.txt --others ${table}_others.txt --out ${table}.s
    COMMAND ${CMAKE_CXX_COMPILER} -c -x assembler ${table}.s -o ${table}.o
    VERBATIM)
  add_dependencies(${target} host_symbols)
  target_link_options(${target} PRIVATE ${table}.o)
endfunction()
