// Explores a chosen shape of the protocol's model, for those that take too long as a test:
//   world_model_explore <calls of caller 1> <of caller 2> <nested 0|1> <signal 0|1> <publications> <reclaims> [full]
//     two callers, a nested call, a signal, one publication: 26 million states, a minute, 1.3 GB
//   world_model_explore thunk <caller 1> <caller 2> <thunk> <compiles> <registrations> <reclaims> [full]
//     callers as text, i: calls the inner operator, o: the outer; thunk: letters of f (folds), c (calls inside),
//     i (inlines), t (there from the start); thunk io o fci 1 1 1: 81 million states, two to three minutes, 5 GB
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/world/dependent_world.h"
#include "tests/world/one_world.h"

namespace shunt::world::model {
namespace {

int report(const Outcome& o) {
  std::printf("%zu states, %zu transitions, %zu ends, %zu histories, %.3g interleavings\n%s\n", o.states, o.transitions,
              o.ends, o.histories, o.interleavings, o.violation ? o.violation->c_str() : "no violation");
  return o.violation ? 1 : 0;
}

int run(int argc, char** argv) {
  const bool thunk = argc > 1 && std::strcmp(argv[1], "thunk") == 0;
  if (argc < (thunk ? 8 : 7)) {
    std::fprintf(stderr,
                 "usage: %s [thunk caller1 caller2 letters compiles registrations reclaims |\n"
                 "  calls1 calls2 nested signal publications reclaims] [full]\n",
                 argv[0]);
    return 2;
  }
  const bool full = std::strcmp(argv[argc - 1], "full") == 0;
  const auto number = [&](int i) { return std::atoi(argv[i]); };
  if (thunk) {
    const auto has = [&](char letter) { return std::strchr(argv[4], letter) != nullptr; };
    const DependentShape shape = {.caller = {argv[2], argv[3]},
                                  .folds = has('f'),
                                  .calls_inside = has('c'),
                                  .inlines = has('i'),
                                  .thunk_at_start = has('t'),
                                  .compiles = number(5),
                                  .registrations = number(6),
                                  .reclaims = number(7)};
    return report(DependentWorld<>(shape).explore(!full));
  }
  const Shape shape = {.caller_calls = {number(1), number(2)},
                       .nested = number(3) != 0,
                       .signal = number(4) != 0,
                       .publications = number(5),
                       .reclaims = number(6)};
  return report(World<>(shape).explore(!full));
}

}  // namespace
}  // namespace shunt::world::model

int main(int argc, char** argv) { return shunt::world::model::run(argc, argv); }
