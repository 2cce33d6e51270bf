# CPU seconds of tests and of compilations, which tests/budget reads: in test_times/<test> and <object>.seconds.
#
# shunt_add_test(<name> <target or command> [arguments...]): a timed ctest test. A target stands for its program. An exit
# status other than 0 leaves SHUNT_FAILED_STATUS in the output, for tests with PASS_REGULAR_EXPRESSION.
#
# Tests neither load what earlier ones compiled nor write to the user's cache directory, and what is hot in them is compiled
# however short they are; where they are about the disk cache or the budget, they say so themselves.
set(SHUNT_TEST_ENVIRONMENT SHUNT_JIT_CACHE=set:off SHUNT_JIT_BUDGET=set:100)
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
  set_tests_properties(${name} PROPERTIES ENVIRONMENT_MODIFICATION "${SHUNT_TEST_ENVIRONMENT}")
endfunction()
