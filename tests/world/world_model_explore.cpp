// Explores a chosen shape of the protocol's model, for those that take too long as a test:
//   world_model_explore <calls of caller 1> <of caller 2> <nested 0|1> <signal 0|1> <publications> <reclaims> [full]
// Two callers, a nested call, a signal, one publication: 26 million states, a minute, 2 GB.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/world/one_world.h"

int main(int argc, char** argv) {
  using namespace shunt::world::model;
  if (argc < 7) {
    std::fprintf(stderr, "usage: %s calls1 calls2 nested signal publications reclaims [full]\n", argv[0]);
    return 2;
  }
  const auto number = [&](int i) { return std::atoi(argv[i]); };
  const Shape shape = {.caller_calls = {number(1), number(2)},
                       .nested = number(3) != 0,
                       .signal = number(4) != 0,
                       .publications = number(5),
                       .reclaims = number(6)};
  World<> world(shape);
  const Outcome o = world.explore(!(argc > 7 && std::strcmp(argv[7], "full") == 0));
  std::printf("%zu states, %zu transitions, %zu ends, %zu histories, %.3g interleavings\n%s\n", o.states, o.transitions,
              o.ends, o.histories, o.interleavings, o.violation ? o.violation->c_str() : "no violation");
  return o.violation ? 1 : 0;
}
