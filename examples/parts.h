// A program of several short parts: all of them in turn, or the one that is named. A part that throws is reported, and
// the others run.
#pragma once

#include <exception>
#include <initializer_list>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace examples {

struct Part {
  std::string_view name;
  void (*run)();
};

/// Prints what a part shows. The part fails if it isn't so.
inline void show(bool so, std::string_view what) {
  if (!so) throw std::runtime_error("not so: " + std::string(what));
  std::cout << what << '\n';
}

/// Whether it ended without an exception, which is reported on stderr otherwise.
inline bool runPart(const Part& part) {
  std::cout << "-- " << part.name << std::endl;
  std::string error = "an exception of a type unknown here";
  try {
    part.run();
    return true;
  } catch (const std::exception& e) {
    error = e.what();
  } catch (...) {
  }
  std::cout.flush();
  std::cerr << "-- " << part.name << " failed: " << error << '\n';
  return false;
}

/// The exit status of `program [NAME]`: 0; 1 when a part failed; 2 with a line on how to use it when there is no such
/// part.
inline int runParts(int argc, char** argv, std::string_view program, std::initializer_list<Part> parts) {
  int run = 0, failed = 0;
  for (const Part& part : parts) {
    if (argc > 2 || (argc == 2 && part.name != argv[1])) continue;
    ++run;
    if (!runPart(part)) ++failed;
  }
  if (failed > 0) std::cerr << failed << " of " << run << " parts of " << program << " failed\n";
  if (run > 0) return failed > 0 ? 1 : 0;
  std::cerr << "usage: " << program << " [";
  for (const Part& part : parts) std::cerr << (&part == parts.begin() ? "" : "|") << part.name;
  std::cerr << "]\n";
  return 2;
}

}  // namespace examples
