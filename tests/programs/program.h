// Random programs: a few operators over a handful of tensors, as data. Drawn once from a seed by running them plainly,
// run again by others who must get the same, and printed as C++ where they don't.
#pragma once

#include <shunt/shunt.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace programs {

using shunt::ScalarType;
using shunt::Tensor;

/// What a step's expression may name.
struct Operands {
  Tensor a, b, c;
  int64_t i = 0, j = 0, k = 0;
  double v = 0;
};

/// An expression in a, b, c (tensors), i, j, k (whole numbers) and v, as text and as a function.
struct Row {
  const char* code;
  int tensors;
  const char* numbers;  // of i, j, k: 'd' a dimension of a, 'e' an index, 'n' a size
  bool fits;            // b's and c's shapes have to broadcast with a's
  bool in_place;        // the result is a itself
  Tensor (*run)(const Operands&);
  bool is_factory() const;  // names no tensor
};
const std::vector<Row>& rows();

struct Input {
  std::vector<int64_t> sizes;
  ScalarType dtype;
  bool requires_grad;
  uint64_t seed;
};
/// Small numbers, some equal, some zero.
Tensor makeInput(const Input& input);

struct Step {
  const Row* row;
  std::array<int, 3> tensors;  // slots of a, b, c
  std::array<int64_t, 3> numbers;
  double v;
  bool no_grad;
};

/// Slots 0, 1, ... hold the inputs; every step that is not in place adds one, also where it throws, which then holds
/// nothing.
struct Program {
  uint64_t seed = 0;
  std::vector<Input> inputs;
  std::vector<Step> steps;
  bool autocast = false;
  int root = -1;  // the slot whose sum is differentiated in the end; -1: none

  std::string code() const;
};

/// What is left of a tensor.
struct SlotState {
  bool defined = false;
  std::vector<int64_t> sizes, strides;
  ScalarType dtype{};
  int64_t offset = 0;
  int64_t version = 0;
  bool requires_grad = false;
  std::string grad_fn;
  int alias = -1;     // the first slot with the same storage
  std::string bytes;  // in row-major order; every NaN the same
};

struct Outcome {
  std::vector<std::string> errors;  // of each step and then of backward; empty where there was none
  std::vector<SlotState> slots;
  std::vector<SlotState> grads;  // of the inputs
};

/// Who runs a program: how plain tensors come in, what is on while it runs, and how results are read after that.
struct World {
  std::function<Tensor(const Tensor&)> enter = [](const Tensor& t) { return t; };
  std::function<std::shared_ptr<void>()> guards = [] { return nullptr; };
  std::function<Tensor(const Tensor&)> leave = [](const Tensor& t) { return t; };
  bool values = true;                        // tensors have data
  bool (*is_mine)(const Tensor&) = nullptr;  // of the world's own tensors: what is made of one has to be one
};

Outcome run(const Program& program, const World& world);

/// Draws a program and tells what it did.
Program draw(uint64_t seed, Outcome* outcome);

/// How much two runs have in common besides their errors: everything; values, geometry, dtypes and who requires grad,
/// as aliases and nodes may differ; everything but values and versions.
enum class Level { kAll, kValues, kGeometry };
/// The first difference as text; empty where there is none. `compared_whole`: false where a functional program and the
/// plain one part ways by design, after which nothing is compared.
std::string firstDifference(const Outcome& expected, const Outcome& got, Level level, bool* compared_whole = nullptr);

}  // namespace programs
