// on_cpu <level> <command...>: becomes the command where the CPU has x86-64-v2 or x86-64-v3, whichever <level> is.
// Elsewhere prints "not on this CPU" and exits with the status that CTest takes for a skipped test.
#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace {

constexpr int kSkipped = 77;  // SHUNT_SKIPPED_STATUS in CMakeLists.txt
constexpr int kWrongUsage = 2;

/// Asks, as Shunt does, what the system saves of the registers too. No level: -1.
int cpuHas(std::string_view level) {
  __builtin_cpu_init();
  if (level == "x86-64-v2") return __builtin_cpu_supports("x86-64-v2") != 0;
  if (level == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3") != 0;
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  const int has = argc < 3 ? -1 : cpuHas(argv[1]);
  if (has < 0) {
    std::fprintf(stderr, "usage: on_cpu x86-64-v2|x86-64-v3 <command...>\n");
    return kWrongUsage;
  }
  if (has == 0) {
    std::printf("not on this CPU: %s needs %s\n", argv[2], argv[1]);
    return kSkipped;
  }
  execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return kWrongUsage;
}
