// TrainingCall: a forward and a backward graph of AOTAutograd's as one node in autograd's graph.
//
// It does what AOTAutograd's own runtime does where that has the least to do: nothing outside is aliased, and inputs
// are written only by operators of the forward graph. PyTorch's SavedVariable keeps what backward needs, so versions,
// hooks of saved tensors and retain_graph mean what they do for PyTorch's nodes. Any thread may call it, with the GIL.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shunt_torch {

class TrainingNode;

/// A graph as it is called: its recordings, and what runs where none fits.
struct GraphCall {
  py::object recordings;  // a list of _C.Recording
  py::object otherwise;   // a function of the list of arguments
  /// The results, a list or a tuple.
  py::object run(const py::list& args) const;
};

class TrainingCall : public std::enable_shared_from_this<TrainingCall> {
 public:
  /// What a tangent has to look like, which the backward graph was traced with.
  struct Layout {
    std::optional<at::MemoryFormat> format;
    std::vector<int64_t> sizes, strides;  // where there is no format
  };
  struct Facts {
    std::vector<bool> differentiable;  // results that autograd follows, by position
    std::vector<int64_t> views;        // results that may be views of what the forward graph has made
    size_t unchecked;                  // tensors saved without a check of their version, behind those with one
    size_t numbers;                    // saved behind these
    std::vector<int64_t> detached;     // inputs that never need a grad
    std::vector<int64_t> written;      // inputs that the forward graph writes
    std::vector<Layout> tangents;      // of the differentiable results
    bool without_autocast;             // autocast is part of the graphs, and off around them
    bool nondeterministic;             // traced without deterministic algorithms, which backward must then not ask for
  };
  /// `backward`: gives the backward graph as (recordings, otherwise) where it is needed first.
  TrainingCall(GraphCall forward, py::object backward, Facts facts);
  ~TrainingCall();

  /// A list of the results. missed() where only AOTAutograd's runtime does right: under a dispatch mode or a transform,
  /// in inference mode, for inputs with tangents of forward AD.
  py::object call(const py::list& args);
  const Facts& facts() const { return facts_; }
  /// The grads of all inputs, some of them undefined. The GIL is held.
  std::vector<at::Tensor> runBackward(const py::list& args);

 private:
  py::list results(const py::list& outs, const c10::intrusive_ptr<TrainingNode>& node) const;
  GraphCall forward_;
  std::optional<GraphCall> backward_;
  py::object make_backward_;
  Facts facts_;
};

void addTrainingCall(py::module_& m);

}  // namespace shunt_torch
