// What is measured: one call of an operator, on Shunt and, where it was found, on libtorch; the same arguments for
// both.
//
// No library's types here: the two sides are compiled by different compilers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// kGrad: `a` is not a leaf, the common case inside a model. kGradAutocast: besides, `a` has the reduced precision's
/// dtype as another layer's output has, and `b` and `w` are parameters, whose casts are cached.
enum class Mode { kNoGrad, kGrad, kAutocast, kGradAutocast };
inline constexpr const char* kModeNames[] = {"no_grad", "grad", "autocast", "grad_autocast"};
inline const char* nameOf(Mode m) { return kModeNames[static_cast<int>(m)]; }

/// A prepared call. `run` does it once; settings of the mode are in force from construction to destruction.
class Call {
 public:
  virtual ~Call() = default;
  virtual void run() = 0;
};

struct Case {
  std::string op;
  int64_t numel = 0;  // elements of an operand; mm and linear take the square matrices next to it, addmm as many rows
  Mode mode = Mode::kNoGrad;
  std::string name() const { return op + "/" + std::to_string(numel) + "/" + nameOf(mode); }
};

/// A training step of the digits example: `numel` is its batch.
inline constexpr const char* kDigitsStep = "digits_step";

/// The same of the convolutional network, examples/digits_conv.
inline constexpr const char* kDigitsConvStep = "digits_conv_step";
inline bool isTrainingStep(const Case& c) { return c.op == kDigitsStep || c.op == kDigitsConvStep; }

/// Every case of the table.
std::vector<Case> allCases();

/// Sizes of the operands, for both libraries.
struct Shapes {
  std::vector<int64_t> a, b, w;
};
Shapes shapesOf(const Case& c);

std::unique_ptr<Call> makeShuntCall(const Case& c);
std::unique_ptr<Call> makeTorchCall(const Case& c);  // only where libtorch is found
std::unique_ptr<Call> makeShuntDigitsStep(const Case& c);
std::unique_ptr<Call> makeTorchDigitsStep(const Case& c);  // only where libtorch is found

}  // namespace bench
