// A trace that is running: which value of the graph each tensor is, and the wrappers (Note [Tracing],
// include/shunt/trace/trace.h). For the thread that traces. Wrappers own it; the graph moves out at the end, and then
// it is closed: its wrappers are dead.
#pragma once

#include <shunt/trace/graph.h>
#include <shunt/transforms/fake_tensor.h>

#include "src/dispatch/reliance.h"
#include "src/tensor/active_trace.h"

#include <functional>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shunt::trace_detail {

class TracedTensor;

/// While it lives, what this thread calls is not recorded.
class TracerOff {
 public:
  TracerOff() : saved_(detail::tls_state.included) {
    detail::tls_state.included &= ~DispatchKeySet::of(Functionality::Tracer).raw();
  }
  ~TracerOff() { detail::tls_state.included = saved_; }
  TracerOff(const TracerOff&) = delete;
  TracerOff& operator=(const TracerOff&) = delete;

 private:
  uint64_t saved_;
};

/// A tensor of a call: what the caller passed, what it stands for below, and the value that it is.
struct Operand {
  Tensor given;
  Tensor inner;
  Graph::Value* value;
  TracedTensor* wrapper;  // null for a plain tensor
};

/// Whether a node of a backward pass runs on this thread.
bool inBackward();

inline constexpr DispatchKeySet kBelowTracer = DispatchKeySet::fullAfter(DispatchKey::Tracer);

/// Composites work on any tensors, but kernels and fake tensors' fallback don't know wrappers.
inline DispatchKeySet forComposites(DispatchKeySet below) {
  return below.remove(DispatchKey::Fake).remove(DispatchKey::PythonKernel);
}

}  // namespace shunt::trace_detail

namespace shunt::detail {

class Recording final : public intrusive_ptr_target, public ActiveTrace, public Reliance {
 public:
  explicit Recording(bool fake) : fake_(fake), thread_(std::this_thread::get_id()) {}
  virtual ~Recording() = default;

  Graph graph;
  /// Which composites are not recorded but the operators that they call; null: those of tensors that require grad.
  std::function<bool(const OperatorHandle&)> takes_apart;
  /// Where that is null: which ones besides those of tensors that require grad.
  std::function<bool(const OperatorHandle&)> takes_apart_too;
  /// Whether the function must leave elements outside of tensors that are recorded alone: those of tensors from
  /// outside, which it would read or write now, and memory that a call lends it.
  bool refuses_elements = false;

  Tensor addInput(const Tensor& t) { return addInput(t, specOf(t)); }
  Tensor addInput(const Tensor& t, Graph::Spec spec);
  /// A wrapper of a constant, for a graph that is recorded again: `inner` stands for it.
  Tensor addConstant(const Tensor& constant, const Tensor& inner);
  /// The value of a tensor that the function returned.
  Graph::Value* valueOf(const Tensor& t);
  /// What it stands for below.
  Tensor innerOf(const Tensor& t) { return resolve(t).inner; }
  const std::vector<std::pair<Tensor, Tensor>>& captured() const { return captured_; }
  /// Operators that were called or that levels of vmap and grad asked, and what their tables were
  /// (detail::fingerprintOf) at first.
  const std::unordered_map<const Operator*, uint64_t>& seen() const { return seen_; }
  bool wasSeeded() const { return seeded_; }
  /// callSite() of the first time, if elements are refused.
  const std::string& seededAt() const { return seeded_at_; }
  bool differentiated() const { return differentiated_; }
  bool createdGraph() const { return created_graph_; }
  bool savedClones() const { return saved_clones_; }
  bool readVersionFromOutside() const { return read_version_; }
  bool readOffsetFromOutside() const { return read_offset_; }
  bool calledWithOtherDtype() const { return other_dtype_; }
  const std::string& readVersionAt() const { return read_version_at_; }
  /// Wrappers that somebody holds; once it is closed, somebody else.
  std::vector<Tensor> living() const;
  /// For a node whose operator returned nothing where its graph has a value: `result` is what it gives.
  Tensor giveLastResult(const Tensor& result);
  /// One operator call: the fallback of the key Tracer.
  void call(const OperatorHandle& op, DispatchKeySet keys, Stack* stack);
  /// What an operator that is being recorded calls: see Note [What autograd saves] (fallback.cpp).
  void callInside(const OperatorHandle& op, DispatchKeySet keys, Stack* stack);
  bool isInside() const { return inside_ != Inside::kNo; }
  /// From now on its wrappers are dead. Grads that hold wrappers get what these hold.
  void close() noexcept;
  bool isOpen() const { return open_ && thread_ == std::this_thread::get_id(); }
  /// Records what the function has put in the place of grads since the last call.
  void syncGrads();

  const Tensor& grad(const Tensor& t) override;
  Tensor& mutableGrad(const Tensor& t) override;
  void seeded() override;
  void readsVersion(const Tensor& t) override;
  void readsOffset(const Tensor& t) override;
  void readsIdentity(const Tensor& t, const char* method) override;
  void readsMemory(const Tensor& t, const char* method) override;
  void readsText(const Tensor& t) override;
  void readsElements(const Tensor& t) override;
  void borrowsMemory(IntArrayRef sizes) override;
  void usesFile(const char* function) override;
  void differentiates(bool create_graph) override {
    differentiated_ = true;
    created_graph_ |= create_graph;
  }
  Tensor wrapped(const Tensor& t) override;
  Tensor standsFor(const Tensor& t) override { return innerOf(t); }
  void see(const Operator& op) override;

 private:
  /// Where the thread is: in the function, in an operator that is recorded as one, in one of those that autograd may
  /// save a clone for.
  enum class Inside : uint8_t { kNo, kOperator, kSavingOperator };
  using Operand = trace_detail::Operand;
  struct Known {
    weak_intrusive_ptr<TensorImpl> tensor;  // weak: keeps the address from being used again
    Graph::Value* value;
    Tensor inner;  // of a captured tensor in a fake trace
  };
  /// The node to which a tensor's gradients go; null for leaves, and for what requires no grad.
  struct History {
    const Node* node = nullptr;
    uint64_t sequence_nr = 0;  // another node may come to the same place
    uint32_t output_nr = 0;
    bool operator==(const History&) const = default;
  };
  /// The values in one storage, which may outlive their tensors: autograd saves aliases of them, with their history.
  struct Family {
    weak_intrusive_ptr<StorageImpl> storage;
    std::vector<std::pair<Graph::Value*, History>> values;
  };
  struct Slot {
    Tensor variable;  // that has the grad
    Tensor last;      // the grad that is recorded
    bool unknown;     // whether it may be another one when the graph runs
  };

  /// Whether the function has made the memory of a tensor, which has no wrapper around it.
  bool isMemoryMadeHere(const Tensor& t) const;
  void refuseAnswer(const Tensor& t, const char* method) const;
  Operand resolve(const Tensor& t);
  Operand capture(const Tensor& t);
  void noteCaptured(const Tensor& t, const Tensor& inner);
  static History historyOf(const Tensor& t);
  Graph::Value* derived(const Tensor& t);
  /// Of what autograd gives for a saved view: the tensor whose elements it shows, and whose history it goes on with;
  /// null for others.
  Graph::Value* writtenBaseOf(const Tensor& t);
  /// A node that shows as `t` does what `base` shows; `records`: with grad mode on.
  Graph::Value* asStridedOf(Graph::Value* base, const Tensor& t, bool records);
  void know(const Tensor& t, Graph::Value* value, Tensor inner = {});
  Tensor wrap(const Tensor& inner, Graph::Value* value);
  Storage wrapperStorage(const Tensor& inner);
  Tensor& slotOf(const Tensor& variable);
  /// After an operator of the library "trace": what it did to grads is recorded.
  void noteGrads();

  /// Each tensor among the last `n` values of a stack, once.
  std::vector<Operand> operandsOf(const Stack& stack, size_t n);
  void checkReturns(const OperatorHandle& op) const;
  void runBelow(const OperatorHandle& op, const std::vector<Operand>& operands, Stack* stack);
  IValue finishReturn(Graph::Node* node, const IValue& result, const std::vector<Operand>& operands, bool plain);
  Tensor finishTensor(Graph::Value* value, const Tensor& result, const std::vector<Operand>& operands, bool plain);

  const bool fake_;
  bool open_ = true;
  std::vector<std::pair<Tensor, Tensor>> captured_;  // and what stands for them
  std::vector<weak_intrusive_ptr<TensorImpl>> wrappers_;
  std::unordered_map<const Operator*, uint64_t> seen_;
  const std::thread::id thread_;
  FakeTensorConverter converter_;
  std::unordered_map<const TensorImpl*, Known> known_;
  std::unordered_map<const StorageImpl*, Family> families_;
  std::unordered_map<const StorageImpl*, std::pair<weak_intrusive_ptr<StorageImpl>, Storage>> storages_;
  std::unordered_map<const StorageImpl*, int64_t> homes_;  // Graph::Value::storage of the first tensor in it
  std::map<const TensorImpl*, Slot> slots_;
  std::map<const TensorImpl*, Tensor> grads_;  // wrappers that grad() gave
  bool syncing_ = false;
  bool seeded_ = false;
  bool differentiated_ = false, created_graph_ = false, saved_clones_ = false, read_version_ = false,
       read_offset_ = false;
  const ScalarType default_dtype_ = get_default_dtype();
  bool other_dtype_ = false;
  std::string seeded_at_, read_version_at_;
  Inside inside_ = Inside::kNo;
  bool force_plain_ = false;  // results are for autograd
};

/// The one whose scope this thread is in, also inside of an operator that it records; null: none.
Recording* currentRecording();
void setCurrentRecording(Recording* recording);

}  // namespace shunt::detail
