# Compiles through ccache where it is installed. -DSHUNT_CCACHE= compiles without.
find_program(SHUNT_CCACHE NAMES ccache DOC "Compiler cache, empty for none")
if(SHUNT_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/tools/cached_compile ${SHUNT_CCACHE} ${PROJECT_SOURCE_DIR})
  message(STATUS "Shunt: compiling through ${SHUNT_CCACHE}")
endif()
