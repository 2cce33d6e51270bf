// What this build of Shunt is and what it runs with: version, CPU, libraries, compiler, disk cache, and the environment
// variables in force. For bug reports; `shunt info` prints it.
//
// Any thread. Loads the compiler (libshunt_jit.so) where there is one, to ask for its version.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shunt {

/// What system_info() finds.
struct SystemInfo {
  std::string version;
  /// How this build was made.
  struct Build {
    std::string compiler, type, flags;
  } build;
  /// The CPU, and the instruction sets that loops use.
  struct Cpu {
    std::string model;
    int hardware_threads = 0;
    std::string best_isa, isa;  // the best level that the CPU and this build have; the one in use (SHUNT_ISA)
  } cpu;
  /// The library of matrix products.
  struct Blas {
    std::string library, file;
    std::string core;     // whose kernels it uses
    std::string problem;  // why it can't be loaded; the others are empty then
  } blas;
  std::string onednn;  // version
  int threads = 0;     // get_num_threads()
  /// The compiler.
  struct Jit {
    bool available = false, enabled = false;
    std::string llvm;           // version
    double budget_percent = 0;  // jit::budget()
  } jit;
  /// The disk cache of compiled code.
  struct Cache {
    std::string directory;  // empty: there is none
    uint64_t files = 0, bytes = 0, limit_bytes = 0;
  } cache;
  /// A variable of the environment that Shunt reads.
  struct Variable {
    std::string name;
    std::string value;    // that holds
    std::string given;    // the environment's; empty where it has none
    bool is_set = false;  // the environment's value holds
    std::string expected, by_default, reader, description;
  };
  std::vector<Variable> variables;  // in the order of docs/environment.md

  /// As lines for people, and as JSON.
  SHUNT_API std::string text() const;
  SHUNT_API std::string json() const;
};

/// Looks at everything now.
SHUNT_API SystemInfo system_info();

namespace detail {

struct MathLibraries {
  SystemInfo::Blas blas;
  std::string onednn;
};
/// In kernels/linalg.
MathLibraries mathLibraries();

}  // namespace detail
}  // namespace shunt
