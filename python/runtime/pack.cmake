# Installs Shunt from the build folder ${tree} into ${CMAKE_INSTALL_PREFIX}, the folder of the Python package, in the form that
# a wheel can have: it holds no symbolic links, so each library has one name, the one that programs look for.
foreach(component IN ITEMS runtime development tools)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${tree} --prefix ${CMAKE_INSTALL_PREFIX} --component ${component} --strip
    OUTPUT_QUIET RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "Shunt can't be installed from ${tree}; the message above says why.")
  endif()
endforeach()
file(REMOVE_RECURSE ${CMAKE_INSTALL_PREFIX}/share)  # pages, examples, the man page

set(libraries ${CMAKE_INSTALL_PREFIX}/lib)
if(NOT EXISTS ${libraries}/libshunt.so)
  message(FATAL_ERROR "Shunt's libraries aren't in the folder lib: configure ${tree} with -DCMAKE_INSTALL_LIBDIR=lib.")
endif()
file(GLOB names RELATIVE ${libraries} ${libraries}/libshunt*.so*)
foreach(name IN LISTS names)
  if(IS_SYMLINK ${libraries}/${name})
    file(REMOVE ${libraries}/${name})
  endif()
endforeach()
file(GLOB targets ${libraries}/cmake/shunt/shuntTargets-*.cmake)
file(READ ${targets} text)
foreach(name IN ITEMS libshunt libshunt_jit)
  file(GLOB file ${libraries}/${name}.so.*)
  if(file)
    string(REGEX REPLACE "(\\.so\\.[0-9]+\\.[0-9]+)\\.[0-9]+$" "\\1" soname ${file})
    file(RENAME ${file} ${soname})
    cmake_path(GET file FILENAME old)
    cmake_path(GET soname FILENAME new)
    string(REPLACE "/${old}\"" "/${new}\"" text "${text}")
    set(soname_of_${name} ${new})
  endif()
endforeach()
file(WRITE ${targets} "${text}")
# What -lshunt finds.
file(WRITE ${libraries}/libshunt.so "INPUT(${soname_of_libshunt})\n")

file(REAL_PATH ${openblas} real)
file(COPY_FILE ${real} ${libraries}/libopenblas.so.0)

# The OpenMP runtime by its usual name too, which auditwheel would change: where a process has one of that name already, PyTorch's,
# Shunt and oneDNN use that one. A second one would cost threads, and room for thread-locals that a process has little of.
file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${libraries}/${soname_of_libshunt} RESOLVED_DEPENDENCIES_VAR used
  UNRESOLVED_DEPENDENCIES_VAR unresolved PRE_EXCLUDE_REGEXES "^lib(c|m|shunt.*)[.]so")
foreach(library IN LISTS used)
  if(library MATCHES "/libgomp[.]so[.]1$")
    file(REAL_PATH ${library} real)
    file(COPY_FILE ${real} ${libraries}/libgomp.so.1)
  endif()
endforeach()
if(NOT EXISTS ${libraries}/libgomp.so.1)
  message(FATAL_ERROR "libshunt's OpenMP runtime, libgomp.so.1, can't be found on this system.")
endif()
