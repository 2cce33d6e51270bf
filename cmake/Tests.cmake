# shunt_add_test(<name> <target or command> [arguments...]): a ctest test whose CPU seconds tests/budget reads. A target stands
# for its program. Exit statuses other than 0 match SHUNT_FAILED_STATUS in the output, for tests with PASS_REGULAR_EXPRESSION.
set(SHUNT_FAILED_STATUS "exit status [1-9]")
set(SHUNT_TEST_TIMES ${PROJECT_BINARY_DIR}/test_times)
file(MAKE_DIRECTORY ${SHUNT_TEST_TIMES})

function(shunt_add_test name command)
  if(TARGET ${command})
    set(command $<TARGET_FILE:${command}>)
  endif()
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/timed ${SHUNT_TEST_TIMES}/${name} ${command} ${ARGN})
endfunction()
