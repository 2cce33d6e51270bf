// Passes that record a graph once more while it runs on fake tensors: decompose, functionalized.
#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>
#include <shunt/trace/graph.h>
#include <shunt/transforms/functionalize.h>

#include "src/trace/fakes.h"
#include "src/trace/interpreter.h"
#include "src/trace/recording.h"
#include "src/transforms/fake/fake_impl.h"

#include <unordered_map>

namespace shunt {
namespace {

/// A recording of a graph's nodes, on fake tensors in wrappers. The new graph has the same inputs and constants.
class Retrace {
 public:
  explicit Retrace(const Graph& graph) : graph_(graph), recording_(make_intrusive<detail::Recording>(true)) {
    SHUNT_CHECK(detail::currentRecording() == nullptr,
                "Graph: decompose() and functionalized() record the graph, which "
                "can't be done inside of a function that trace() records");
    const trace_detail::Fakes fakes(graph);
    for (const Graph::Value* v : graph.inputs()) wrappers_[v->id] = recording_->addInput(fakes.of(*v), v->spec);
    for (const Graph::Value* v : graph.constants())
      wrappers_[v->id] = recording_->addConstant(v->constant, fakes.of(*v));
  }
  ~Retrace() { recording_->close(); }
  Retrace(const Retrace&) = delete;
  Retrace& operator=(const Retrace&) = delete;

  detail::Recording& recording() { return *recording_; }
  const Tensor& wrapper(const Graph::Value& v) const { return wrappers_.at(v.id); }

  /// `given`: what stands for an input or constant; `leave`: the traced tensor of an output.
  template <class Given, class Finish, class Leave>
  Graph run(Given given, Finish finish, Leave leave) {
    const On on(*recording_);
    trace_detail::Interpreter interpreter(graph_, given);
    interpreter.run([&](const Graph::Node& node, Stack& returns) {
      readGrad(node, returns);
      for (const IValue& v : returns) forEachTensor(v, [&](const Tensor& t) { recorded_.add(t); });
    });
    finish();
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
    returns[0] = IValue(recording_->giveLastResult(trace_detail::fakeOf(node.result()->spec)));
  }

  const Graph& graph_;
  intrusive_ptr<detail::Recording> recording_;
  std::unordered_map<int64_t, Tensor> wrappers_;
  trace_detail::RecordedForFakes recorded_;
};

}  // namespace

Graph Graph::decompose(const std::function<bool(const OperatorHandle&)>& keep) const {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Functionalize, DispatchKey::Batched});
  Retrace retrace(*this);
  retrace.recording().takes_apart = [&](const OperatorHandle& op) { return keep == nullptr || !keep(op); };
  return retrace.run([&](const Value& v) { return retrace.wrapper(v); }, [] {}, [](const Tensor& t) { return t; });
}

Graph Graph::functionalized() const {
  const ExcludeDispatchKeyGuard above({DispatchKey::Python, DispatchKey::Batched});
  Retrace retrace(*this);
  retrace.recording().takes_apart = [](const OperatorHandle&) { return false; };
  detail::FunctionalizeCall call;
  const FunctionalizeGuard guard;
  return retrace.run([&](const Value& v) { return call.wrap(retrace.wrapper(v)); }, [&] { call.writeBack(); },
                     [&](const Tensor& t) { return is_functional(t) ? call.unwrap(t) : t; });
}

}  // namespace shunt
