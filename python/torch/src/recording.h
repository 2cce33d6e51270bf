// Recording: one recorded call, the guards under which it stands for another, and its replay.
#pragma once

#include "plan.h"
#include "program.h"
#include "state_guards.h"
#include "structure.h"
#include "surroundings.h"
#include "tensor_guard.h"

#include <memory>

namespace shunt_torch {

class Recording {
 public:
  /// `captured`: the tensors found in places of the function's, which become inputs behind those of the arguments; each
  /// has the input whose grad it is, or -1: such a one is read from there in each call.
  /// `arguments` and `state`: an Arguments and a StateGuards.
  Recording(py::object arguments, py::object state, const py::list& captured, std::vector<int64_t> grad_of);
  Program& program() { return program_; }
  /// What an input's version grows by in a call.
  void setVersions(std::vector<int64_t> versions) { versions_ = std::move(versions); }
  void setResult(py::object result) { result_ = Owned<Result>(std::move(result)); }
  /// Output `output` comes back with a graph that was freed.
  void addFreedGraph(size_t output, std::string name, std::string message);
  /// Taken before the call is recorded. `history`: whether what autograd and Python know of inputs matters. False where
  /// inputs overlap whose storages are different ones.
  bool look(const std::vector<py::object>& inputs, bool history);

  /// Which mode or setting isn't what it was before the call was recorded.
  std::string changedSurroundings() const { return surroundings_.difference(Surroundings::now()); }
  /// An argument may begin anywhere in its storage: minibatches are slices. `is_shared`: others lie there, too.
  void allowOffset(size_t input, bool is_shared) {
    tensors_[input].allowOffset();
    if (is_shared) program_.addMoving(static_cast<int64_t>(input));
  }
  /// Its storage is looked at beyond what the tensor shows.
  void needStorage(size_t input) { tensors_[input].needStorage(); }

  /// The result of a call; missed() where a guard doesn't hold or a check is due. `kwargs` may be null.
  PyObject* call(PyObject* args, PyObject* kwargs);
  /// Which guard doesn't hold, for people; empty where all do.
  std::string difference(const py::tuple& args, const py::dict& kwargs, const py::function& describe_state);
  /// The inputs of such a call, in order; None where its guards don't hold.
  py::object inputsOf(const py::tuple& args, const py::dict& kwargs) const;
  /// Runs on other inputs, and returns (whether it came to the end, outputs, {input: grad}). `plain`: by the program,
  /// not the plan.
  py::tuple replay(const std::vector<at::Tensor>& inputs, bool plain) const;
  /// Runs the plan on other inputs, and returns nanoseconds: (of the run, of PyTorch's operators in it), without the
  /// clock's own. For benchmarks.
  py::tuple times(const std::vector<at::Tensor>& inputs) const;
  /// Makes the plan, from a run of the program on these inputs, which it writes. Returns why there is none, or an empty
  /// string.
  std::string makePlan(const std::vector<at::Tensor>& inputs, Numerics numerics);
  /// Compares the operators of a plan of fast mode with PyTorch's, on these inputs, which are written; see
  /// checkOperators().
  std::string checkOperators(const std::vector<at::Tensor>& inputs) const;
  void dropPlan() { plan_ = nullptr; }
  bool hasPlan() const { return plan_ != nullptr; }
  py::list describe() const { return plan_ != nullptr ? plan_->describe() : program_.describe(); }

  /// Of the plan's groups of fused operators; none where there is no plan.
  std::vector<std::string> groups() const { return plan_ != nullptr ? plan_->groups() : std::vector<std::string>(); }

  int traverse(visitproc visit, void* arg) const;

  bool by_program = false;  // calls run the program, though there is a plan
  uint64_t runs = 0;        // replays for calls
  uint64_t abandoned = 0;   // in the middle, by a value that was expected or an error
  uint64_t check_at = 0;    // the number of runs before the next check
  uint64_t active = 0;      // replays for calls that other threads are in

 private:
  bool gather(PyObject* args, PyObject* kwargs, std::vector<PyObject*>& objects, std::vector<at::Tensor>& inputs) const;
  /// An object of Python's, which the garbage collector sees, and what it is in C++.
  template <class T>
  class Owned {
   public:
    Owned() = default;
    explicit Owned(py::object object) : object_(std::move(object)), value_(object_.cast<T*>()) {}
    const T* operator->() const { return value_; }
    PyObject* object() const { return object_.ptr(); }

   private:
    py::object object_;
    T* value_ = nullptr;
  };
  Owned<Arguments> arguments_;
  Owned<StateGuards> state_;
  std::vector<py::object> captured_;
  std::vector<int64_t> grad_of_;
  Surroundings surroundings_;
  std::vector<TensorGuard> tensors_;
  bool history_ = true;
  SharingGuard sharing_;
  std::vector<int64_t> storages_;  // by input: the first one on its storage
  // `step`: the one that ran last, also where it threw.
  bool runProgram(const std::vector<at::Tensor>& inputs, std::vector<at::Tensor>& made, std::vector<at::Tensor>* grads,
                  std::vector<bool>* has_grad, bool plain, size_t& step) const;
  Program program_;
  std::shared_ptr<Plan> plan_;
  Numerics numerics_ = Numerics::kExact;
  std::vector<int64_t> versions_;
  Owned<Result> result_;
  struct Freed {
    size_t output;
    std::string name, message;
  };
  std::vector<Freed> freed_;
};

}  // namespace shunt_torch
