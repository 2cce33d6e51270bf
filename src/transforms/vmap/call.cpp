#include "src/transforms/vmap/call.h"

#include "src/core/alias_sets.h"

#include <shunt/core/log.h>
#include <shunt/ops.h>
#include <shunt/tensor/memory_overlap.h>

#include <array>
#include <atomic>

namespace shunt::levels {
namespace {

std::vector<int64_t> frontOrder(int64_t dims, int64_t batch_dim) {
  std::vector<int64_t> order = {batch_dim};
  for (int64_t d = 0; d < dims; ++d)
    if (d != batch_dim) order.push_back(d);
  return order;
}

/// Operators that were warned of, in the order of their first calls. No lock, so fork() has none to take; a program
/// with more such operators than there is room for isn't warned of the rest.
constinit std::array<std::atomic<const Operator*>, 256> warned_of{};

/// Whether the operator was new there.
bool noteWarning(const Operator& op) {
  for (std::atomic<const Operator*>& slot : warned_of) {
    const Operator* held = nullptr;
    if (slot.compare_exchange_strong(held, &op, std::memory_order_relaxed)) return true;
    if (held == &op) return false;
  }
  return false;
}

void warnOnce(const OperatorHandle& op) {
  if (!noteWarning(op.op())) return;
  detail::logWarning(detail::str("vmap: operator ", op.operator_name(),
                                 " has no rule, so it is called once for each sample, which is slow; "
                                 "shunt::register_vmap gives it one (docs/batching_rules.md)"));
}

/// One sample of each batched tensor.
Stack sampleArguments(const BatchedCall& call, int64_t i) {
  Stack sample;
  for (const IValue& v : call.args)
    sample.push_back(mapTensors(v, [&](const Tensor& t) {
      return call.isBatched(t) ? storageOf(t).value.select(storageOf(t).batch_dim, i) : t;
    }));
  return sample;
}

void checkLoops(const BatchedCall& call) {
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.schema.arguments()[i].is_write())
      forEachTensor(call.args[i], [&](const Tensor& t) {
        if (!call.isBatched(t)) throwWritesUnbatched(call, i, t);
      });
  for (const Argument& r : call.schema.returns())
    SHUNT_CHECK(
        r.type.kind == TypeKind::Tensor, "vmap: operator ", call.op.operator_name(), " returns ", r.type,
        ", which isn't a tensor: inside vmap it would be another one for each sample. Keep it in tensors, or call "
        "it outside of vmap");
}

/// What the loop stacks is a copy, so that what a function writes to such a view wouldn't be seen in its base. The
/// library's own, of which a program has replaced a composite kernel (reshape, contiguous), may return copies anyway.
void checkMakesNoView(const BatchedCall& call) {
  if (call.op.operator_name().getNamespace() == "aten") return;
  for (const Argument& r : call.schema.returns())
    SHUNT_CHECK(!r.hasAlias() || r.is_write(), "vmap: operator ", call.op.operator_name(),
                " has no rule, and returns a view of what it is given: called once for each sample it would return "
                "copies, and writes to them would be lost. Register a batching rule that returns views "
                "(shunt::register_vmap), or a kernel for CompositeImplicitAutograd that calls the library's view "
                "operators; or take the alias annotation out of its schema and return a new tensor");
}

Tensor stackResults(const BatchedCall& call, const std::vector<Tensor>& samples) {
  for (const Tensor& t : samples)
    SHUNT_CHECK(
        t.defined() == samples[0].defined() && (!t.defined() || t.sizes() == samples[0].sizes()), "vmap: operator ",
        call.op.operator_name(), " returns tensors of other shapes for other samples",
        t.defined() && samples[0].defined() ? detail::str(" (", samples[0].sizes(), " and ", t.sizes(), ")") : "",
        ": the shape of its result depends on data, which vmap can't stack. Use an operator whose shape doesn't "
        "(where, a mask), or call it outside of vmap");
  return samples[0].defined() ? ops::stack::call(samples, 0) : Tensor();
}

/// In any level.
bool requiresGrad(Tensor t) {
  while (!t.requires_grad() && isWrapper(t)) t = Tensor(storageOf(t).value);
  return t.requires_grad();
}

IValue joinSamples(const BatchedCall& call, const std::vector<IValue>& samples) {
  std::vector<std::vector<Tensor>> by_sample;
  for (const IValue& v : samples) {
    by_sample.push_back(v.isTensorList() ? v.toTensorVector()
                                         : std::vector<Tensor>{v.isNone() ? Tensor() : v.toTensor()});
    SHUNT_CHECK(by_sample.back().size() == by_sample[0].size(), "vmap: operator ", call.op.operator_name(),
                " returns lists of ", by_sample[0].size(), " and of ", by_sample.back().size(),
                " tensors for other samples, which vmap can't stack");
  }
  std::vector<Tensor> joined;
  for (size_t e = 0; e < by_sample[0].size(); ++e) {
    std::vector<Tensor> column;
    for (const auto& list : by_sample) column.push_back(list[e]);
    joined.push_back(stackResults(call, column));
  }
  return samples[0].isTensorList() ? IValue(std::move(joined)) : IValue(joined[0]);
}

}  // namespace

size_t BatchedCall::position(const char* name) const {
  const auto found = schema.argumentIndexWithName(name);
  SHUNT_INTERNAL_ASSERT(found.has_value(), "operator ", op.operator_name(), " has no argument ", name);
  return *found;
}

Tensor BatchedCall::front(const Tensor& t) const {
  if (!isBatched(t)) return t;
  const WrapperStorage& storage = storageOf(t);
  if (storage.batch_dim == 0) return storage.value;
  return ops::permute::call(storage.value, frontOrder(storage.value.dim(), storage.batch_dim));
}

Tensor BatchedCall::expanded(const Tensor& t) const {
  if (isBatched(t)) return front(t);
  return ops::expand::call(ops::unsqueeze::call(t, 0), withBatch(t.sizes()), false);
}

std::vector<int64_t> BatchedCall::withBatch(IntArrayRef sizes) const {
  std::vector<int64_t> all = {size};
  all.insert(all.end(), sizes.begin(), sizes.end());
  return all;
}

bool isRecorded(const BatchedCall& call) {
  if (!GradMode::is_enabled()) return false;
  bool any = false;
  for (const IValue& v : call.args) forEachTensor(v, [&](const Tensor& t) { any |= requiresGrad(t); });
  return any;
}

void loopSilently(BatchedCall& call) {
  checkLoops(call);
  if (call.size == 0) return loopOverNone(call);
  const size_t returns = call.schema.returns().size();
  std::vector<std::vector<IValue>> by_return(returns);
  for (int64_t i = 0; i < call.size; ++i) {
    Stack sample = sampleArguments(call, i);
    const Stack given = i == 0 ? sample : Stack();
    call.op.callBoxed(&sample);
    if (i == 0) call.returned = detail::returnedArguments(call.schema, given, sample);
    for (size_t r = 0; r < returns; ++r) by_return[r].push_back(std::move(sample[r]));
  }
  for (size_t r = 0; r < returns; ++r) {
    // What is written was written through views of the value.
    if (call.returned[r])
      call.results.push_back(IValue());
    else
      call.results.push_back(joinSamples(call, by_return[r]));
  }
}

void loopOverBatch(BatchedCall& call) {
  checkMakesNoView(call);
  if (call.size > 0) warnOnce(call.op);
  loopSilently(call);
}

std::string batchedArgument(const BatchedCall& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    bool any = false;
    forEachTensor(call.args[i], [&](const Tensor& t) { any |= call.isBatched(t); });
    if (any) return call.schema.arguments()[i].name;
  }
  return "";
}

bool readsWhatItWrites(const BatchedCall& call, bool elementwise) {
  const auto meets = [&](const Tensor& written, const Tensor& read) {
    const TensorImpl &a = *inMemory(written).unsafeGetTensorImpl(), &b = *inMemory(read).unsafeGetTensorImpl();
    if (!a.has_storage() || !b.has_storage() || a.storage() != b.storage()) return false;
    const MemoryOverlap overlap = memory_overlap(a, b);
    return overlap != MemoryOverlap::kNone && !(elementwise && overlap == MemoryOverlap::kSame);
  };
  bool found = false;
  for (size_t w = 0; w < call.args.size(); ++w) {
    if (!call.schema.arguments()[w].is_write()) continue;
    for (size_t i = 0; i < call.args.size(); ++i)
      if (i != w)
        forEachTensor(call.args[w], [&](const Tensor& written) {
          forEachTensor(call.args[i], [&](const Tensor& read) { found = found || meets(written, read); });
        });
  }
  return found;
}

void throwWritesUnbatched(const BatchedCall& call, size_t written) {
  throwWritesUnbatched(call, written, call.tensor(written));
}

void throwWritesUnbatched(const BatchedCall& call, size_t written, const Tensor& t) {
  throw Error(
      detail::str("vmap: operator ", call.op.operator_name(), " writes to its argument '",
                  call.schema.arguments()[written].name, "', a tensor of shape ", t.sizes(),
                  " that has no batch, while its argument '", batchedArgument(call), "' is batched with ", call.size,
                  " samples: one tensor can't hold a result for each. Use the form that returns a new tensor, or "
                  "pass the written tensor to vmap with a batch dimension"));
}

}  // namespace shunt::levels
