#include "bench/thunks/command.h"

#include <cstdio>
#include <stdexcept>

#include <sys/wait.h>

namespace bench {

std::string runCommand(const std::string& command, int& status) {
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) throw std::runtime_error("popen failed: " + command);
  std::string text;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, out)) text.append(buffer, n);
  const int ended = pclose(out);
  status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return text;
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::filesystem::path programFolder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

}  // namespace bench
