# CPU seconds of tests and of compilations, which tests/budget reads: in test_times/<test> and <object>.seconds.
#
# shunt_add_test(<name> <target or command> [arguments...]): a timed ctest test. A target stands for its program. An exit
# status other than 0 leaves SHUNT_FAILED_STATUS in the output, for tests with PASS_REGULAR_EXPRESSION.
set(SHUNT_FAILED_STATUS "exit status [1-9]")
set(SHUNT_TIMED ${PROJECT_SOURCE_DIR}/tools/timed)
set(SHUNT_TEST_TIMES ${PROJECT_BINARY_DIR}/test_times)
file(MAKE_DIRECTORY ${SHUNT_TEST_TIMES})

# With or without tests, so that switching them compiles nothing again.
if(PROJECT_IS_TOP_LEVEL)
  set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "${SHUNT_TIMED} <OBJECT>.seconds")
endif()

function(shunt_add_test name command)
  if(TARGET ${command})
    set(command $<TARGET_FILE:${command}>)
  endif()
  add_test(NAME ${name} COMMAND ${SHUNT_TIMED} ${SHUNT_TEST_TIMES}/${name} ${command} ${ARGN})
endfunction()
