#include "src/compile/passes/host_node.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/library.h>

#include <algorithm>

namespace shunt::compiled {
namespace {

constexpr std::string_view kName = "shunt_host::step";
constexpr const char* kSchema = "step(str step, Tensor[] read, Tensor(a!)[] written) -> Tensor[]";

/// Null where the string is none.
const HostFunction* functionOf(const IValue& step) {
  const auto* shared = static_cast<const intrusive_ptr_target*>(step.internalToPointer());
  return dynamic_cast<const HostFunction*>(shared);
}

void checkInput(const HostFunction& step, size_t i, const Tensor& t) {
  const HostSpec& spec = step.inputSpecs()[i];
  const bool fits = t.defined() && t.dtype() == spec.dtype && t.sizes() == IntArrayRef(spec.sizes) &&
                    (t.numel() == 0 || t.strides() == IntArrayRef(spec.strides)) && t.device().is_cpu();
  if (fits) [[likely]]
    return;
  SHUNT_CHECK(t.defined(), "host step '", step.value, "': input ", i, " is undefined");
  SHUNT_CHECK(false, "host step '", step.value, "': input ", i, " was planned as ", dtypeName(spec.dtype),
              IntArrayRef(spec.sizes), " with strides ", IntArrayRef(spec.strides), ", got ", dtypeName(t.dtype()),
              t.sizes(), " with strides ", t.strides(), " on ", t.device());
}

void callStep(const OperatorHandle&, Stack* stack) {
  const std::vector<Tensor> written = std::move(pop(*stack).toTensorVector());
  const std::vector<Tensor> read = std::move(pop(*stack).toTensorVector());
  const IValue shared = pop(*stack);
  const HostFunction* step = functionOf(shared);
  SHUNT_CHECK(step != nullptr, kName, ": argument 'step' is the string '", shared.toStringRef(),
              "'; expected the step of a host plan, which makes such calls");
  std::vector<void*> inputs, results;
  for (size_t i = 0; i < step->inputSpecs().size(); ++i) {
    const size_t place = step->placeOf(i);
    const Tensor& t = place < step->readCount() ? read.at(place) : written.at(place - step->readCount());
    checkInput(*step, i, t);
    inputs.push_back(t.unsafeGetTensorImpl()->data());
  }
  std::vector<Tensor> made;
  for (const HostSpec& spec : step->resultSpecs()) {
    made.emplace_back(detail::makeCpuTensor(spec.sizes, spec.strides, spec.dtype));
    results.push_back(made.back().unsafeGetTensorImpl()->data());
  }
  step->call(inputs, results);
  stack->push_back(IValue(std::move(made)));
}

SHUNT_LIBRARY(shunt_host, m) {
  m.def(kSchema);
  m.impl("step", DispatchKey::CompositeExplicitAutograd, CppFunction::makeFromBoxedFunction<&callStep>());
  m.impl("step", DispatchKey::Autograd, CppFunction::makeFallthrough());
}

}  // namespace

HostFunction::HostFunction(HostStep step)
    : Boxed(std::move(step.name)),
      function_(std::move(step.function)),
      results_(std::move(step.results)),
      has_effects_(step.has_effects) {
  const auto isWritten = [&](size_t i) { return std::ranges::find(step.written, i) != step.written.end(); };
  const size_t count = step.inputs.size();
  for (size_t i = 0; i < count; ++i) read_ += isWritten(i) ? 0 : 1;
  size_t read = 0, written = read_;
  for (size_t i = 0; i < count; ++i) places_.push_back(isWritten(i) ? written++ : read++);
}

intrusive_ptr<HostFunction> makeHostFunction(HostStep step, std::vector<HostSpec> inputs) {
  auto made = make_intrusive<HostFunction>(std::move(step));
  made->inputs_ = std::move(inputs);
  return made;
}

void HostFunction::call(std::span<void* const> inputs, std::span<void* const> results) const {
  calls_.fetch_add(1, std::memory_order_relaxed);
  function_({inputs, results, inputs_, results_});
}

const OperatorHandle& hostOperator() {
  static const OperatorHandle op = Dispatcher::singleton().findSchemaOrThrow(std::string(kName).c_str(), "");
  return op;
}

bool isHostStep(const Graph::Node& node) { return node.op.op().name() == kName; }

const HostFunction& hostFunctionOf(const Graph::Node& node) {
  const HostFunction* step = functionOf(node.arguments.at(0).literal);
  SHUNT_INTERNAL_ASSERT(step != nullptr, "a node of ", kName, " without a step");
  return *step;
}

bool isPureHostStep(const Graph::Node& node) {
  return isHostStep(node) && node.arguments[2].values.empty() && !hostFunctionOf(node).hasEffects();
}

}  // namespace shunt::compiled
