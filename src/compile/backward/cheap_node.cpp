#include "src/compile/backward/cheap_node.h"

#include "src/compile/guards/keys_that_matter.h"
#include "src/compile/guards/own_calls.h"
#include "src/compile/passes/aliases.h"
#include "src/compile/passes/casts.h"
#include "src/compile/regions/pointwise_node.h"
#include "src/dispatch/own_kernels.h"
#include "src/tensor/tensor_block.h"

#include <algorithm>
#include <cstring>

namespace shunt::compiled {
namespace {

bool isPlain(const Graph::Spec& spec) {
  return spec.device == kCPU && (isFloatingType(spec.dtype) || spec.dtype == kBool);
}

bool mayBeCheap(const Graph::Node& node) {
  if (!isOfDictionary(node) || mayAlias(node) || node.modes.inference || mayAutocast(node)) return false;
  if (node.outputs.size() != 1 || node.outputs[0].is_list || node.result() == nullptr || !isPlain(node.result()->spec))
    return false;
  const auto isFloating = [](const Graph::Argument& a) {
    return a.kind == Graph::Argument::Kind::kValue && isFloatingType(a.value()->spec.dtype) &&
           !a.value()->spec.wrapped_number;
  };
  return std::ranges::all_of(
             node.arguments,
             [](const Graph::Argument& a) {
               return a.kind == Graph::Argument::Kind::kLiteral ||
                      (a.kind == Graph::Argument::Kind::kValue && a.value() != nullptr && isPlain(a.value()->spec));
             }) &&
         // Else the dtype may be the default one, which may be another when a backward pass runs.
         (node.result()->spec.dtype == kBool || std::ranges::any_of(node.arguments, isFloating));
}

/// One element like those of a tensor of that kind.
Tensor elementOf(const Graph::Spec& spec) {
  const std::vector<int64_t> sizes(spec.sizes.empty() ? 0 : 1, 1);
  Tensor t(detail::makeCpuTensor(sizes, {}, spec.dtype));
  std::memset(t.unsafeGetTensorImpl()->data(), 0, static_cast<size_t>(t.nbytes()));
  t.unsafeGetTensorImpl()->set_wrapped_number(spec.wrapped_number);
  return t;
}

}  // namespace

BoxedKernelFn cheapKernelOf(const Graph::Node& node) {
  const Operator& op = node.op.op();
  if (!mayBeCheap(node)) return nullptr;
  if (!callsOwn(op, EntryReason::kKernel, false) && !callsOwn(op, EntryReason::kCompositeExplicit, false))
    return nullptr;
  const detail::CallFrame frame(op);
  const TableEntry& entry = frame.state(op).lookup(kPlainCpu);
  if (entry.functor != nullptr || !detail::isOfThisLibrary(entry)) return nullptr;  // registered meanwhile
  Stack stack;
  for (const Graph::Argument& a : node.arguments)
    stack.push_back(a.value() != nullptr ? IValue(elementOf(a.value()->spec)) : a.literal);
  elementwise::RecordedLoop loop;
  try {
    const elementwise::RecordingOfLoop recording(loop);
    entry.boxed(nullptr, node.op, kPlainCpu, &stack);
  } catch (const std::exception&) {
    return nullptr;
  }
  return ranOneLoop(loop) && !loop.large ? entry.boxed : nullptr;
}

}  // namespace shunt::compiled
