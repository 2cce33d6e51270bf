# Debian's packages: `cpack -G DEB` in a build folder whose target shunt_installed is built. libshunt0.2 has the libraries,
# libshunt-dev what programs are built with, shunt-tools bin/shunt; python3-shunt, where SHUNT_PYTHON is the system's, the Python package
# shunt. They are for the Debian that they are built on, whose fmt and
# oneDNN the library is linked with; dpkg-shlibdeps names those.
#
# Who publishes packages sets SHUNT_MAINTAINER; the default is an address of nobody.
set(SHUNT_MAINTAINER "Shunt maintainers <maintainers@shunt.example>" CACHE STRING
  "Who makes the Debian packages and answers for them: name <address>")
find_program(SHUNT_SHLIBDEPS NAMES dpkg-shlibdeps)

# A package's version ends in the Debian that it is for, so that an upgrade of the system upgrades it.
set(system "")
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release system REGEX "^VERSION_ID=")
endif()
string(REGEX REPLACE "[^0-9]" "" system "${system}")
set(SHUNT_DEBIAN_RELEASE 1~deb${system})
set(SHUNT_DEBIAN_VERSION ${PROJECT_VERSION}-${SHUNT_DEBIAN_RELEASE})

# The day of this version stands in CHANGELOG.md, and nowhere else.
file(STRINGS CHANGELOG.md heading REGEX "^## \\[${PROJECT_VERSION}\\] - ")
string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+$" day "${heading}")
if(NOT day)
  message(FATAL_ERROR "CHANGELOG.md has no heading \"## [${PROJECT_VERSION}] - <year>-<month>-<day>\" for this version.")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS CHANGELOG.md)
execute_process(COMMAND date --utc --rfc-email --date=${day} OUTPUT_VARIABLE SHUNT_DEBIAN_DAY
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_day)
if(no_day OR NOT SHUNT_GZIP)
  message(STATUS "Shunt: no Debian packages can be made here: they need gzip and the date of GNU's coreutils")
  return()
endif()
set(folder ${PROJECT_BINARY_DIR}/debian)
configure_file(cmake/debian/copyright.in ${folder}/copyright @ONLY)
shunt_compressed(${folder}/changelog.Debian FROM cmake/debian/changelog.in)
file(WRITE ${folder}/triggers "activate-noawait ldconfig\n")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME shunt)
set(CPACK_PACKAGE_VENDOR Shunt)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT ${SHUNT_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${SHUNT_DEBIAN_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL "")

# shunt_package(<group> <package> SECTION s SUMMARY text DESCRIPTION text COMPONENTS c... [DEPENDS text] [SUGGESTS text]
#   [CONTROL file...]). A group's name is what CPack's variables have; its component debian_<group> is in packages only.
macro(shunt_package group package)
  cmake_parse_arguments(arg "" "SECTION;SUMMARY;DESCRIPTION;DEPENDS;SUGGESTS" "COMPONENTS;CONTROL" ${ARGN})
  install(FILES ${folder}/copyright ${folder}/changelog.Debian.gz DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    COMPONENT debian_${group} EXCLUDE_FROM_ALL)
  foreach(component IN ITEMS ${arg_COMPONENTS} debian_${group})
    string(TOUPPER ${component} name)
    set(CPACK_COMPONENT_${name}_GROUP ${group})
    list(APPEND CPACK_COMPONENTS_ALL ${component})
  endforeach()
  string(TOUPPER ${group} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${arg_SECTION})
  set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${arg_DEPENDS}")
  set(CPACK_DEBIAN_${name}_PACKAGE_SUGGESTS "${arg_SUGGESTS}")
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${arg_SUMMARY}\n${arg_DESCRIPTION}")
  if(arg_CONTROL)
    list(TRANSFORM arg_CONTROL PREPEND ${folder}/)
    set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA "${arg_CONTROL}")
  endif()
endmacro()

set(about "Shunt runs operators on tensors in the manner of PyTorch, and compiles the\nchains of kernels that get hot with LLVM.")
# OpenBLAS is loaded at run time, which dpkg-shlibdeps can't see.
shunt_package(libshunt libshunt${SHUNT_ABI_VERSION} SECTION libs COMPONENTS runtime CONTROL triggers
  DEPENDS "libopenblas0-pthread | libopenblas0"
  SUMMARY "self-optimising operator dispatcher for tensors - libraries"
  DESCRIPTION "${about}\n.\nThis package has the libraries that programs run with.")
shunt_package(development libshunt-dev SECTION libdevel COMPONENTS development
  DEPENDS "libshunt${SHUNT_ABI_VERSION} (= ${SHUNT_DEBIAN_VERSION})" SUGGESTS "clang-19, llvm-19, cmake, pkg-config, shunt-tools"
  SUMMARY "self-optimising operator dispatcher for tensors - development files"
  DESCRIPTION "${about}\n.\nThis package has headers, the CMake and pkg-config packages, the\ndocumentation and examples.")
shunt_package(tools shunt-tools SECTION devel COMPONENTS tools
  DEPENDS "libshunt${SHUNT_ABI_VERSION} (= ${SHUNT_DEBIAN_VERSION})"
  SUMMARY "self-optimising operator dispatcher for tensors - command line"
  DESCRIPTION "${about}\n.\nThis package has the program shunt, which shows operators, what a call runs\nand why, and what was compiled.")
# Compiled for one version of Python, the system's.
if(SHUNT_HAS_PYTHON)
  file(REAL_PATH ${SHUNT_PYTHON} real_python)
  if(real_python MATCHES "^/usr/bin/python3[.]([0-9]+)$")
    math(EXPR next_python "${CMAKE_MATCH_1} + 1")
    # Debian's tools compile the sources when the package is installed, and remove what was compiled with it.
    foreach(script postinst prerm)
      configure_file(cmake/debian/python3.${script} ${folder}/python3/${script} COPYONLY)
    endforeach()
    shunt_package(python3 python3-shunt SECTION python COMPONENTS python3 CONTROL python3/postinst python3/prerm
      DEPENDS "libshunt${SHUNT_ABI_VERSION} (= ${SHUNT_DEBIAN_VERSION}), python3 (>= 3.${CMAKE_MATCH_1}~), python3 (<< 3.${next_python})"
      SUGGESTS python3-numpy
      SUMMARY "self-optimising operator dispatcher for tensors - Python package"
      DESCRIPTION "${about}\n.\nThis package has the Python package shunt, with PyTorch's names and semantics.")
  endif()
endif()
include(CPack)
