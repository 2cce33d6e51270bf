// One call of one operator, and what came of it, without a type of either library: the generator draws a Case, the two
// executors run it, the comparison looks at the two Outcomes.
//
// Compiled by clang++ beside Shunt's headers and by g++ beside PyTorch's. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace parity {

/// Memory that one or several of a case's tensors use; `bytes` holds whole elements.
struct StorageSpec {
  int dtype = 6;
  std::vector<uint8_t> bytes;
};

/// How a tensor comes about, which decides whether it is a leaf and whether it is a view.
enum class Origin : uint8_t {
  kLeaf,         // stands for itself
  kCloneOfLeaf,  // leaf.clone()
  kViewOfClone,  // leaf is the whole storage in one dimension; leaf.clone().as_strided(...)
};

struct TensorSpec {
  bool defined = true;
  int storage = -1;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  bool requires_grad = false;
  Origin origin = Origin::kLeaf;
  /// A number that became a 0-dim tensor: takes part in type promotion by its kind only.
  bool wrapped_number = false;
};

/// An argument, or a return that is no tensor. Tensors are indices into Case::tensors.
struct Value {
  enum class Kind : uint8_t {
    kNone,
    kTensor,
    kInt,
    kDouble,
    kBool,
    kString,
    kIntList,
    kDoubleList,
    kBoolList,
    kTensorList,
    kOptionalTensorList,
    kDeviceCpu,
    kOther
  };
  Kind kind = Kind::kNone;
  int64_t i = 0;
  double d = 0;
  std::string s;
  std::vector<int64_t> ints;  // of kIntList, kBoolList; indices for kTensor (one) and the lists, -1 where none is
  std::vector<double> doubles;

  static Value none() { return {}; }
  static Value ofInt(int64_t v) {
    Value r;
    r.kind = Kind::kInt;
    r.i = v;
    return r;
  }
  static Value ofDouble(double v) {
    Value r;
    r.kind = Kind::kDouble;
    r.d = v;
    return r;
  }
  static Value ofBool(bool v) {
    Value r;
    r.kind = Kind::kBool;
    r.i = v;
    return r;
  }
  static Value ofString(std::string v) {
    Value r;
    r.kind = Kind::kString;
    r.s = std::move(v);
    return r;
  }
  static Value ofInts(std::vector<int64_t> v) {
    Value r;
    r.kind = Kind::kIntList;
    r.ints = std::move(v);
    return r;
  }
  static Value ofBools(std::vector<int64_t> v) {
    Value r;
    r.kind = Kind::kBoolList;
    r.ints = std::move(v);
    return r;
  }
  static Value ofDoubles(std::vector<double> v) {
    Value r;
    r.kind = Kind::kDoubleList;
    r.doubles = std::move(v);
    return r;
  }
  static Value ofTensor(int64_t index) {
    Value r;
    r.kind = Kind::kTensor;
    r.ints = {index};
    return r;
  }
  static Value ofTensors(std::vector<int64_t> v) {
    Value r;
    r.kind = Kind::kTensorList;
    r.ints = std::move(v);
    return r;
  }
  static Value ofOptionalTensors(std::vector<int64_t> v) {
    Value r = ofTensors(std::move(v));
    r.kind = Kind::kOptionalTensorList;
    return r;
  }
  static Value cpu() {
    Value r;
    r.kind = Kind::kDeviceCpu;
    return r;
  }
};

struct Case {
  std::string name, overload;  // "aten::add", "Tensor"
  std::vector<StorageSpec> storages;
  std::vector<TensorSpec> tensors;
  std::vector<Value> args;
  bool no_grad = false;
  /// Backward from every result that requires grad, with gradients drawn from this seed.
  bool backward = false;
  bool expanded_gradients = false;
  bool integral_data = false;
  /// What the argument `dtype` of an out= form names, in which the result is computed before it is cast; -1: nothing.
  int compute_dtype = -1;
  uint64_t gradient_seed = 0;
  /// Per result: the dtype in which its gradient is drawn, whatever dtype it then gets; empty: its own.
  std::vector<int> gradient_dtypes;
};

/// Everything visible of one tensor. `bytes`: the elements in row-major order.
struct TensorState {
  bool defined = false;
  int dtype = -1;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  std::vector<uint8_t> bytes;
  bool requires_grad = false, is_leaf = true, is_view = false;
  std::string grad_fn;
};

struct Returned {
  Value number;  // kTensor, kTensorList: see tensors
  std::vector<TensorState> tensors;
  std::vector<int> same_as;     // per tensor: the case's tensor that it is, or -1
  std::vector<int> storage_of;  // per tensor: the first of the case's tensors with the same storage, or -1
};

struct Outcome {
  bool threw = false;
  std::string error;
  std::vector<Returned> returns;
  std::vector<TensorState> after;  // of Case::tensors
  std::vector<int64_t> bumped;     // by how much the call raised the version of Case::tensors[i]
  bool ran_backward = false, backward_threw = false;
  std::string backward_error;
  std::vector<TensorState> grads;  // per tensor of the case: its leaf's grad
};

/// Elements of a gradient for a result: small numbers, the same ones for both libraries.
std::vector<uint8_t> drawGradient(const Case& c, size_t result, int dtype, int64_t numel);

Outcome runShunt(const Case& c);
Outcome runTorch(const Case& c);

/// libtorch's settings for a fair comparison: one thread, no warnings on stderr.
void setUpTorch();
/// The operator's schema as libtorch prints it; empty when it has no such operator.
std::string torchSchema(const std::string& name, const std::string& overload);
/// All schemas of libtorch's namespace aten.
std::vector<std::string> torchSchemas();

}  // namespace parity
