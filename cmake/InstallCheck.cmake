# What an installation needs, as one target, shunt_installed, and what says so where it isn't built. Included before all other
# rules of installing, so that nothing is copied where something is missing.
#
# shunt_installs(<file or target>...): built by shunt_installed, and looked for by `cmake --install`.
add_custom_target(shunt_installed)

function(shunt_installs)
  foreach(item IN LISTS ARGN)
    if(TARGET ${item})
      add_dependencies(shunt_installed ${item})
      set(item $<TARGET_FILE:${item}>)
    endif()
    set_property(GLOBAL APPEND PROPERTY SHUNT_INSTALLED_FILES ${item})
  endforeach()
endfunction()

set(shunt_install_check ${PROJECT_BINARY_DIR}/install_check.cmake)
install(SCRIPT ${shunt_install_check} ALL_COMPONENTS)

# Last, when all that is installed is known.
function(shunt_write_install_check)
  get_property(files GLOBAL PROPERTY SHUNT_INSTALLED_FILES)
  list(JOIN files "\"\n  \"" files)
  file(GENERATE OUTPUT ${shunt_install_check} CONTENT "\
set(missing \"\")
foreach(file IN ITEMS
  \"${files}\")
  if(NOT EXISTS \"\${file}\")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY \"${PROJECT_BINARY_DIR}\")
    list(APPEND missing \${file})
  endif()
endforeach()
if(missing)
  list(JOIN missing \", \" missing)
  message(FATAL_ERROR \"Shunt is built in parts here, and an installation needs more: \${missing}. Nothing was installed. \"
    \"Build it and install again: cmake --build ${PROJECT_BINARY_DIR} --target shunt_installed\")
endif()
")
endfunction()

# shunt_compressed(<out> FROM <template>): <out>.gz, from a template with @VARIABLES@; the same bytes whenever it is made.
# Only where SHUNT_GZIP is found: who just builds needs no gzip.
find_program(SHUNT_GZIP NAMES gzip)
function(shunt_compressed out from template)
  configure_file(${template} ${out} @ONLY)
  execute_process(COMMAND ${SHUNT_GZIP} --best --no-name --stdout ${out} OUTPUT_FILE ${out}.gz COMMAND_ERROR_IS_FATAL ANY)
endfunction()
