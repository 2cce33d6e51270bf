// bin/shunt as the tests run it.
#pragma once

#include "tests/support/run_command.h"

#include <gtest/gtest.h>

#include <string>

namespace shunt::test {

inline CommandResult runCli(const std::string& arguments, const std::string& variables, const char* streams) {
  return runCommand("env -u SHUNT_JIT -u SHUNT_JIT_CACHE -u SHUNT_STATS -u SHUNT_LOG -u SHUNT_PROFILE " + variables +
                    " " SHUNT_CLI " " + arguments + streams);
}

/// What a program reads: warnings, such as that of a library without its compiler, go past it.
inline std::string good(const std::string& arguments, const std::string& variables = "") {
  const CommandResult ran = runCli(arguments, variables, "");
  EXPECT_EQ(ran.status, 0) << arguments << "\n" << ran.text;
  return ran.text;
}

/// Of a command whose work fails.
inline std::string bad(const std::string& arguments, const std::string& variables = "") {
  const CommandResult ran = runCli(arguments, variables, " 2>&1");
  EXPECT_EQ(ran.status, 1) << arguments << "\n" << ran.text;
  return ran.text;
}

/// Of a mistake in the command line.
inline std::string wrong(const std::string& arguments, const std::string& variables = "") {
  const CommandResult ran = runCli(arguments, variables, " 2>&1");
  EXPECT_EQ(ran.status, 100) << arguments << "\n" << ran.text;
  return ran.text;
}

/// The whole text of a mistake.
inline std::string withHelp(const std::string& message, const std::string& command) {
  return "shunt: " + message + "\nRun '" + command + " --help' for its options.\n";
}

}  // namespace shunt::test
