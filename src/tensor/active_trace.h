// What a running trace() (include/shunt/trace/trace.h) has to be told that no operator shows: who reads or replaces a
// tensor's grad, reads its version, its text or what tells it from others, asks where its elements are, borrows memory,
// uses a file, seeds a generator, differentiates.
// Tensors and autograd ask for it; src/trace sets it. Each thread has its own.
#pragma once

#include <shunt/tensor/tensor.h>

namespace shunt {

class ActiveTrace {
 public:
  /// Tensor::grad() of `t`, recorded. The reference is good until the next call for the same tensor.
  virtual const Tensor& grad(const Tensor& t) = 0;
  /// Tensor::mutable_grad() of `t`: what is put there is recorded before the next operator.
  virtual Tensor& mutableGrad(const Tensor& t) = 0;
  /// A generator was made or set to a position, which no operator does.
  virtual void seeded() = 0;
  /// The function asks for this one's version.
  virtual void readsVersion(const Tensor& t) = 0;
  /// The function asks where in its storage this one begins.
  virtual void readsOffset(const Tensor& t) = 0;
  /// The function asks, by a method of this name, for what a graph can't know of a tensor from outside. May throw.
  virtual void readsIdentity(const Tensor& t, const char* method) = 0;
  /// The same for what depends on the memory of the tensor, which its views have, too.
  virtual void readsMemory(const Tensor& t, const char* method) = 0;
  /// The function asks for the text of this one. May throw.
  virtual void readsText(const Tensor& t) = 0;
  /// The function asks where this one's elements are. May throw.
  virtual void readsElements(const Tensor& t) = 0;
  /// The function makes a tensor over memory that isn't Shunt's: from_blob() with these sizes. May throw.
  virtual void borrowsMemory(IntArrayRef sizes) = 0;
  /// The engine runs; whether it gives gradients a graph.
  virtual void differentiates(bool create_graph) = 0;
  /// The tensor in whose place the traced function computes with a tensor from outside of it.
  virtual Tensor standsFor(const Tensor& t) = 0;
  /// A result of the engine that the traced function gets.
  virtual Tensor wrapped(const Tensor& t) = 0;
  /// The function reads or writes a file, by a function of this name. May throw.
  virtual void usesFile(const char* function) = 0;

 protected:
  ~ActiveTrace() = default;
};

/// Null where this thread traces nothing, and inside of an operator that is recorded as one.
ActiveTrace* activeTrace();
/// The same also inside of a grad level in the traced function, which records nothing itself: for what no graph can
/// have.
ActiveTrace* traceAround();
/// Whether this thread traces, inside of such operators too.
bool isTracing();
void setActiveTrace(ActiveTrace* trace);

}  // namespace shunt
