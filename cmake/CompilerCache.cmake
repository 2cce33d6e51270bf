# Compiles through ccache where it is installed. -DSHUNT_CCACHE= compiles without.
find_program(SHUNT_CCACHE NAMES ccache DOC "Compiler cache, empty for none")
# A folder that can't be written, or a version that lacks a setting, is to fail no build.
set(shunt_ccache_works FALSE)
if(SHUNT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/shunt_ccache_probe)
  file(WRITE ${probe}/probe.cpp "int probe;\n")
  execute_process(
    COMMAND ${PROJECT_SOURCE_DIR}/tools/cached_compile ${SHUNT_CCACHE} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER}
      -MD -MF probe.d -o probe.o -c probe.cpp
    WORKING_DIRECTORY ${probe} RESULT_VARIABLE probe_status OUTPUT_QUIET ERROR_VARIABLE probe_error)
  if(probe_status EQUAL 0)
    set(shunt_ccache_works TRUE)
  else()
    message(STATUS "Shunt: ${SHUNT_CCACHE} can't be used, compiling without: ${probe_error}")
  endif()
endif()
if(shunt_ccache_works)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/tools/cached_compile ${SHUNT_CCACHE} ${PROJECT_SOURCE_DIR})
  message(STATUS "Shunt: compiling through ${SHUNT_CCACHE}")
endif()
