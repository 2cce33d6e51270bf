// A description of this build and its surroundings, for bug reports: version, CPU, libraries, compiler, disk cache and
// environment variables. `shunt info` prints it.
//
// Any thread. Loads the compiler (libshunt_jit.so), if it is installed, to read its version.
#pragma once

#include <shunt/core/macros.h>

#include <cstdint>
#include <string>
#include <vector>

namespace shunt {

/// The result of system_info().
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
    std::string best_isa, isa;  // the best level of the CPU and this build; the one in use (SHUNT_ISA)
  } cpu;
  /// The library for matrix products.
  struct Blas {
    std::string library, file;
    std::string core;     // whose kernels it uses
    std::string problem;  // why it can't be loaded; the other members are empty then
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
    std::string directory;  // empty: no cache
    std::string problem;    // why the directory that SHUNT_JIT_CACHE names is not used
    uint64_t files = 0, bytes = 0, limit_bytes = 0;
  } cache;
  /// An environment variable that Shunt reads.
  struct Variable {
    std::string name;
    std::string value;    // in force
    std::string given;    // the environment's; empty if unset
    bool is_set = false;  // the environment's value is in force
    std::string expected, by_default, reader, description;
  };
  std::vector<Variable> variables;  // in the order of docs/environment.md

  /// The information as readable lines, and as JSON.
  SHUNT_API std::string text() const;
  SHUNT_API std::string json() const;
};

/// Gathers the information anew in each call.
SHUNT_API SystemInfo system_info();

namespace detail {

struct MathLibraries {
  SystemInfo::Blas blas;
  std::string onednn;
};
/// Defined in kernels/linalg.
MathLibraries mathLibraries();

}  // namespace detail
}  // namespace shunt
