// Recording a graph once more while it runs on fake tensors in wrappers: for passes that change what its nodes call, or
// go on where it ends. A local value, for one thread.
#pragma once

#include "src/trace/fakes.h"
#include "src/trace/interpreter.h"
#include "src/trace/recording.h"
#include "src/transforms/fake/fake_impl.h"

#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>

#include <unordered_map>
#include <utility>
#include <vector>

namespace shunt::trace_detail {

/// A recording of a graph's nodes, on fake tensors in wrappers. The new graph has the same inputs and constants.
class Retrace {
 public:
  explicit Retrace(const Graph& graph) : graph_(graph), recording_(make_intrusive<detail::Recording>(true)) {
    SHUNT_CHECK(
        detail::currentRecording() == nullptr,
        "Graph: decompose(), functionalized() and compile() record a graph anew, which can't be done inside of a "
        "function that trace() records");
    const Fakes fakes(graph);
    for (const Graph::Value* v : graph.inputs()) wrappers_[v->id] = recording_->addInput(fakes.of(*v), v->spec);
    for (const Graph::Value* v : graph.constants())
      wrappers_[v->id] = recording_->addConstant(v->constant, fakes.of(*v));
  }
  ~Retrace() { recording_->close(); }
  Retrace(const Retrace&) = delete;
  Retrace& operator=(const Retrace&) = delete;

  detail::Recording& recording() { return *recording_; }
  const Tensor& wrapper(const Graph::Value& v) const { return wrappers_.at(v.id); }

  /// `given`: what stands for an input or constant; `finish`: called with the interpreter when all nodes have run;
  /// `leave`: the traced tensor of an output.
  template <class Given, class Finish, class Leave>
  Graph run(Given given, Finish finish, Leave leave) {
    const On on(*recording_);
    Interpreter interpreter(graph_, given);
    interpreter.run([&](const Graph::Node& node, Stack& returns) {
      readGrad(node, returns);
      for (const IValue& v : returns) forEachTensor(v, [&](const Tensor& t) { recorded_.add(t); });
    });
    finish(interpreter);
    std::vector<Graph::Value*> outputs;
    for (const Graph::Value* v : graph_.outputs()) {
      const Tensor t = interpreter.output(v);
      outputs.push_back(t.defined() ? recording_->valueOf(leave(t)) : nullptr);
    }
    recording_->graph.setOutputs(std::move(outputs));
    return std::move(recording_->graph);
  }

 private:
  struct On {
    explicit On(detail::Recording& r) : included(detail::tls_state.included) {
      detail::tls_state.included |= DispatchKeySet{DispatchKey::Tracer, DispatchKey::Fake}.functionalities().raw();
      detail::setCurrentRecording(&r);
    }
    ~On() {
      detail::tls_state.included = included;
      detail::setCurrentRecording(nullptr);
    }
    uint64_t included;
  };

  // The fake tensors have no grads but those that the graph has given them.
  void readGrad(const Graph::Node& node, Stack& returns) {
    if (!node.is("trace::grad") || node.result() == nullptr) return;
    if (returns[0].isTensor() && returns[0].toTensor().defined()) return;
    returns[0] = IValue(recording_->giveLastResult(fakeOf(node.result()->spec)));
  }

  const Graph& graph_;
  intrusive_ptr<detail::Recording> recording_;
  std::unordered_map<int64_t, Tensor> wrappers_;
  RecordedForFakes recorded_;
};

}  // namespace shunt::trace_detail
