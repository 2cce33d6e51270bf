// A random program, as data that both libraries can run, and what it leaves. Without a type of either library.
//
// Compiled by clang++ beside Shunt's headers and by g++ beside PyTorch's. Plain values; any thread.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

namespace parity_programs {

/// What an expression of the table (rows.h) needs and makes. The same in both libraries' tables.
struct RowInfo {
  std::string code;
  bool makes;  // a new tensor, in a slot of its own; else it changes something
  bool uses_a = names(code, 'a'), uses_b = names(code, 'b');

  static bool names(const std::string& code, char letter) {
    const auto isWord = [&](size_t i) {
      return i < code.size() && (std::isalnum(static_cast<unsigned char>(code[i])) != 0 || code[i] == '_');
    };
    for (size_t at = 0; at < code.size(); ++at)
      if (code[at] == letter && !isWord(at + 1) && (at == 0 || !isWord(at - 1))) return true;
    return false;
  }
};

struct Input {
  std::vector<int64_t> sizes;
  int dtype = 6;
  bool requires_grad = false;
  uint64_t seed = 0;
};

struct Step {
  int row = 0;
  int a = 0, b = 0;  // slots
  int64_t i = 0;     // a dimension, or a whole number
  double v = 0;
  bool no_grad = false, autocast = false, inference = false;
};

/// Slots 0, 1, ... hold the inputs; every step adds one, also where it makes none or throws, which then holds nothing.
struct Program {
  std::vector<Input> inputs;
  std::vector<Step> steps;
};

struct Slot {
  bool defined = false;
  std::string facts;  // everything visible but elements and history
  std::string grad_fn;
  int dtype = -1;
  std::vector<double> values;
  // Where its elements lie, for `partlyOverlap`; two libraries' differ.
  uintptr_t begin = 0, end = 0;
  std::vector<int64_t> sizes, strides;
};

/// Whether they share memory and one isn't the other: what a change of one in place does then depends on the loop's
/// order.
bool partlyOverlap(const Slot& x, const Slot& y);

struct Outcome {
  std::vector<std::string> errors;  // of each step; empty where there was none
  std::vector<Slot> slots, grads;
};

const std::vector<RowInfo>& shuntRows();
const std::vector<RowInfo>& torchRows();
Outcome runShunt(const Program& program);
Outcome runTorch(const Program& program);
/// libtorch's settings for a fair comparison.
void setUpTorch();

}  // namespace parity_programs
