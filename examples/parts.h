// A program of several short parts: all of them in turn, or the one that is named.
#pragma once

#include <initializer_list>
#include <iostream>
#include <string_view>

namespace examples {

struct Part {
  std::string_view name;
  void (*run)();
};

/// The exit status of `program [NAME]`: 0; 2 with a line on how to use it when there is no such part.
inline int runParts(int argc, char** argv, std::string_view program, std::initializer_list<Part> parts) {
  bool found = false;
  for (const Part& part : parts) {
    if (argc > 2 || (argc == 2 && part.name != argv[1])) continue;
    found = true;
    std::cout << "-- " << part.name << '\n';
    part.run();
  }
  if (found) return 0;
  std::cerr << "usage: " << program << " [";
  for (const Part& part : parts) std::cerr << (&part == parts.begin() ? "" : "|") << part.name;
  std::cerr << "]\n";
  return 2;
}

}  // namespace examples
