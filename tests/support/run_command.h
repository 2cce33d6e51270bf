// What the tests share to run another program. Any thread.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include <sys/wait.h>

namespace shunt::test {

struct CommandResult {
  int status = -1;  // its exit status; -1: it did not exit by itself
  std::string text;
};

/// Runs a shell's command line to its end. `text` is its stdout, and its stderr where the line ends with 2>&1.
inline CommandResult runCommand(const std::string& command) {
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) throw std::runtime_error("popen failed: " + command);
  CommandResult result;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, out)) result.text.append(buffer, n);
  const int status = pclose(out);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

}  // namespace shunt::test
