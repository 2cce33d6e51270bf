// The tensors among the arguments of one call of a functionalized function, and who of them shares memory.
#pragma once

#include "src/transforms/functionalize/functional_tensor.h"

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/transforms/functionalize.h>

namespace shunt {

/// Note [Arguments that share memory]
/// Those of which one's value can be had from another's are a group with one base, whose first value is the group's
/// root: the tensor that all are views of, or that has the graph which the others are detached from. Where that can't
/// be, as for views of another dtype, leaves with graphs of their own, and wrappers of one tensor, each has its own
/// base, and these bases are rivals: once one of them is written the others can't be used any more (Base::beRivalOf).
struct detail::FunctionalizeCall::Inputs {
  /// `nested`: the caller is functionalized already, so the arguments stay what they are.
  explicit Inputs(bool nested) : nested(nested) {}

  Tensor wrap(const Tensor& t);
  void writeBack();
  Tensor unwrap(const Tensor& t) const;
  /// After a function that threw: leaves that it has given another shape get their own again. Logs what can't be done.
  void restore() const;

  const bool nested;
  bool written = false;

 private:
  struct Group {
    Tensor root;
    intrusive_ptr<functional::Base> base;
  };
  struct Input {
    Tensor plain;
    Tensor functional;
    size_t group;
    size_t links;  // that its chain began with
    autograd::TensorGeometry geometry;
    functional::FunctionalTensor& now() const { return *functional::functionalOf(functional); }
  };
  size_t groupFor(const Tensor& t);
  bool joins(size_t group, const Tensor& t);
  bool requiresGrad(size_t group) const;
  void reroot(size_t group, const Tensor& root);
  const Input* inputOf(const Tensor& plain) const;
  void writeBack(const Input& input) const;
  /// What the function has set as the argument's grad becomes a plain tensor; where that can't be known, none, and it
  /// throws.
  static void unwrapGrad(const Input& input);

  std::vector<Group> groups_;
  std::vector<Input> inputs_;
};

}  // namespace shunt
