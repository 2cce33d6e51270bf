// The table of bad input: what a row is, and the bed of tensors and registrations that every row starts from afresh.
//
// A row passes when its call throws shunt::Error, the message holds every part that the row asks for, and nothing that
// can be seen from outside has changed: the bed's tensors, the registry, the thread's dispatch state, the random
// generator. One thread.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shunt::testing {

/// A tensor as another library would hand it over.
struct ForeignTensor {
  std::vector<float> data = {0, 1, 2, 3, 4, 5};
  std::vector<int64_t> shape = {2, 3};
  std::vector<int64_t> strides = {3, 1};
  int deleted = 0;
  dlpack::DLManagedTensor managed{};

  ForeignTensor();
};

struct Bed {
  Tensor undefined;
  Tensor a, b;                          // float [2, 3] and [2, 4]: they do not broadcast
  Tensor vec4, scalar, empty;           // float [4], [], [0, 3]
  Tensor square;                        // float [3, 3]
  Tensor cube;                          // float [2, 3, 4]
  Tensor doubles, longs, bytes, bools;  // [2, 3]
  Tensor meta;                          // float [2, 3] without data
  Tensor expanded;                      // float [1, 3] seen as [2, 3]: rows overlap
  Tensor leaf, graph;                   // float [2, 3] that requires grad, and leaf * leaf
  Tensor inference;                     // made in InferenceMode
  Tensor x, y, z;                       // a row's own, set by its `prepare`
  ForeignTensor foreign;
  Library library;  // errs::on_cpu, errs::no_kernel, errs::no_tensor, errs::returns_int, errs::returns_view
  Library kernels;

  Bed();
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;
  std::vector<std::pair<const char*, const Tensor*>> tensors() const;
};

struct BadInput {
  std::string name;
  std::vector<std::string> parts;  // of the message
  std::function<void(Bed&)> run;
  std::function<void(Bed&)> prepare = nullptr;  // before the state is noted
};

/// 0, 1, 2, ... in row-major order.
Tensor counted(IntArrayRef sizes, ScalarType dtype = kFloat);

/// Everything that a failed call must leave alone, by name, as text.
using State = std::map<std::string, std::string>;
State stateOf(const Bed& bed);
/// Every operator's registrations and derived table, and the fallbacks.
State registryState();

std::vector<BadInput> registryCases();
std::vector<BadInput> operandCases();
std::vector<BadInput> shapeCases();
std::vector<BadInput> linalgCases();
std::vector<BadInput> autogradCases();
std::vector<BadInput> factoryCases();
std::vector<BadInput> deviceCases();
std::vector<BadInput> modeCases();
std::vector<BadInput> dataCases();
std::vector<BadInput> wrapperCases();
std::vector<BadInput> traceCases();
std::vector<BadInput> vmapCases();
std::vector<BadInput> networkCases();

}  // namespace shunt::testing
