// programs_test [--print GLOB]: runs every program with Shunt and with libtorch and compares what they logged. A
// difference fails unless known_differences.txt has it. --print: prints both logs of the programs whose names fit.
#include "tests/parity/rules.h"
#include "tests/parity/written/known.h"
#include "tests/parity/written/program.h"

#include <array>
#include <iostream>
#include <utility>

namespace parity::programs {

std::string reasonOf(const std::string& message) {
  // The first that is found counts: messages name several things.
  struct Phrase {
    const char* text;
    const char* reason;
  };
  static constexpr std::array kPhrases{Phrase{"created inside a custom Function", nullptr},
                                       Phrase{"multiple views", nullptr},
                                       Phrase{"inference mode", nullptr},
                                       Phrase{"no_grad mode", nullptr},
                                       Phrase{"leaf Variable that requires grad", nullptr},
                                       Phrase{"modified by an inplace", nullptr},
                                       Phrase{"Can't detach views", nullptr},
                                       Phrase{"returned as output", nullptr},
                                       Phrase{"more than one Tensor", nullptr},
                                       Phrase{"be saved for backward", nullptr},
                                       Phrase{"inference tensor outside", nullptr},
                                       Phrase{"not track version counter", nullptr},
                                       Phrase{"can't be cast", nullptr},
                                       Phrase{"with two bool tensors", nullptr},
                                       Phrase{"with a bool tensor", nullptr},
                                       Phrase{"does not require grad", nullptr},
                                       Phrase{"without overflow", nullptr},
                                       Phrase{"has changed the type", nullptr},
                                       Phrase{"larger bound", nullptr},
                                       Phrase{"ZeroDivisionError", nullptr},
                                       Phrase{"\" not implemented for", "no kernel for the dtype"},
                                       Phrase{"has changed the size", "a hook's shape"},
                                       Phrase{"(register_hook) returned a gradient of shape", "a hook's shape"},
                                       Phrase{"expected shape compatible with", nullptr}};
  for (const Phrase& phrase : kPhrases)
    if (message.find(phrase.text) != std::string::npos) return phrase.reason != nullptr ? phrase.reason : phrase.text;
  return message.substr(0, message.find('\n'));
}

namespace {

Log runOne(const Program& program) {
  Log log;
  try {
    program.run(log);
  } catch (const std::exception& e) {
    log.line("ended by: ", reasonOf(e.what()));
  }
  return log;
}

/// A program that ends before its first line would be the same in every library.
bool saysNothing(const Log& log) { return log.lines().empty() || log.lines()[0].starts_with("ended by: "); }

}  // namespace
}  // namespace parity::programs

int main(int argc, char** argv) {
  using namespace parity::programs;
  const std::string print = argc == 3 && argv[1] == std::string("--print") ? argv[2] : "";
  setUp();
  const std::vector<Program> ours = shuntPrograms(), theirs = torchPrograms();
  KnownDifferences known(PROGRAMS_KNOWN_DIFFERENCES);
  size_t lines = 0, differing = 0, excused = 0, silent = 0;
  if (ours.size() != theirs.size() || ours.empty()) {
    std::cout << ours.size() << " programs of Shunt, " << theirs.size() << " of libtorch\n";
    return 1;
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    const Log shunt = runOne(ours[i]), torch = runOne(theirs[i]);
    bool named = false;
    if (saysNothing(shunt) && saysNothing(torch)) {
      std::cout << ours[i].name << ": neither logs anything\n";
      ++silent;
    }
    const bool wanted = !print.empty() && parity::globMatches(print, ours[i].name);
    for (size_t k = 0; k < std::max(shunt.lines().size(), torch.lines().size()); ++k) {
      const std::string a = k < shunt.lines().size() ? shunt.lines()[k] : "(ended)",
                        b = k < torch.lines().size() ? torch.lines()[k] : "(ended)";
      ++lines;
      const bool same = a == b;
      const bool is_known = !same && known.covers(ours[i].name, a, b);
      excused += is_known;
      if ((same || is_known) && !wanted) continue;
      if (!std::exchange(named, true)) std::cout << ours[i].name << '\n';
      std::cout << "  " << (same ? "both     " : "Shunt    ") << a << '\n';
      if (k < shunt.lines().size() && !shunt.note(k).empty())
        std::cout << "             " << shunt.note(k).substr(0, shunt.note(k).find('\n')) << '\n';
      if (!same) std::cout << "  libtorch " << b << '\n';
      if (!same && k < torch.lines().size() && !torch.note(k).empty())
        std::cout << "             " << torch.note(k).substr(0, torch.note(k).find('\n')) << '\n';
      differing += !same && !is_known;
      if (!same && !is_known) break;  // what follows differs too
    }
  }
  for (const std::string& idle : known.idle()) std::cout << "known difference not met: " << idle << '\n';
  std::cout << ours.size() << " programs, " << lines << " lines, " << differing << " programs differ, " << excused
            << " known differences\n";
  return differing == 0 && silent == 0 && known.idle().empty() ? 0 : 1;
}
