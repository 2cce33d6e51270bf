#include "plan.h"

#include "plan_builder.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/variable.h>

#include <array>

namespace shunt_torch {

struct Plan::Context {
  std::vector<at::Tensor> tensors;  // by slot
  std::vector<c10::intrusive_ptr<c10::StorageImpl>> storages;
  std::vector<std::vector<c10::IValue>> stacks;  // by step
  c10::DataPtr block;
  bool is_new = true;  // constants aren't there yet
  // Of one run:
  std::vector<at::Tensor> held;    // by storage: results that lend their memory
  std::vector<c10::Storage> made;  // by storage: of results that leave
  std::vector<at::Tensor> reals;   // by slot

  void clear() {
    for (at::Tensor& t : held) t.reset();
    for (c10::Storage& s : made) s = {};
    for (at::Tensor& t : reals) t.reset();
  }
  void setAddress(size_t storage, void* address, size_t bytes) {
    c10::StorageImpl& s = *storages[storage];
    if (s.data() != address) s.set_data_ptr_noswap(c10::DataPtr(address, at::kCPU));
    if (s.nbytes() != bytes) s.set_nbytes(bytes);
  }
};

namespace {

void callHost(const c10::OperatorHandle& op, torch::jit::Stack& stack, HostTime* time) {
  if (time == nullptr) return op.callBoxed(stack);
  const auto start = std::chrono::steady_clock::now();
  op.callBoxed(stack);
  time->sum += std::chrono::steady_clock::now() - start;
  ++time->calls;
}

}  // namespace

std::shared_ptr<Plan> Plan::make(const Program& program, const std::vector<at::Tensor>& trace, Numerics numerics,
                                 std::string& why) {
  // An operator that Shunt refuses to fuse is found while the plan is made, which then begins again.
  std::set<size_t> blocked;
  while (true) {
    auto plan = std::make_shared<Plan>();
    plan->program_ = &program;
    const size_t before = blocked.size();
    why = Builder(*plan, program, trace, numerics, blocked).build();
    if (!why.empty()) return nullptr;
    if (blocked.size() == before) return plan;
  }
}

Plan::~Plan() = default;

std::unique_ptr<Plan::Context> Plan::take() {
  if (!free_.empty()) {
    auto context = std::move(free_.back());
    free_.pop_back();
    return context;
  }
  auto c = std::make_unique<Context>();
  c->block = c10::GetCPUAllocator()->allocate(block_);
  for (const Storage& s : storages_) {
    void* const address = s.kind == Storage::Kind::kInside ? static_cast<char*>(c->block.get()) + s.offset : nullptr;
    c->storages.push_back(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), s.bytes, c10::DataPtr(address, at::kCPU), nullptr, /*resizable=*/false));
  }
  for (const Slot& s : slots_) {
    if (s.storage < 0) {
      c->tensors.emplace_back();
      continue;
    }
    auto impl = s.like.unsafeGetTensorImpl()->shallow_copy_and_detach(
        s.like.is_inference() ? c10::VariableVersion(c10::VariableVersion::DISABLED) : c10::VariableVersion(0), true);
    impl->set_storage_keep_dtype(c10::Storage(c->storages[static_cast<size_t>(s.storage)]));
    c->tensors.emplace_back(std::move(impl));
  }
  for (const Step& s : steps_)
    c->stacks.push_back(s.kind == Kind::kCall ? program_->stackOf(s.of, c->tensors, s.outs) : torch::jit::Stack());
  c->held.resize(storages_.size());
  c->made.resize(storages_.size());
  c->reals.resize(slots_.size());
  return c;
}

at::Tensor Plan::real(Context& c, int64_t slot, const Run& run) const {
  if (slot < static_cast<int64_t>(run.inputs.size())) return run.inputs[static_cast<size_t>(slot)];
  at::Tensor& out = c.reals[static_cast<size_t>(slot)];
  if (out.defined()) return out;
  const Slot& s = slots_[static_cast<size_t>(slot)];
  const auto storage = static_cast<size_t>(s.storage);
  if (storages_[storage].kind == Storage::Kind::kInput) {
    // The result of an operator that wrote an input in place is that input.
    for (size_t i = 0; i < run.inputs.size(); ++i)
      if (slots_[i].storage == s.storage && slots_[i].like.dtype() == s.like.dtype() &&
          slots_[i].like.sizes() == s.like.sizes() && slots_[i].like.strides() == s.like.strides() &&
          slots_[i].like.storage_offset() == s.like.storage_offset() && slots_[i].like.key_set() == s.like.key_set())
        return out = run.inputs[i];
    const at::Tensor& input = run.inputs[static_cast<size_t>(storages_[storage].input)];
    return out = input.as_strided(s.like.sizes(), s.like.strides(), s.like.storage_offset());
  }
  const at::Tensor& lent = c.held[storage];
  if (lent.defined() && storages_[storage].lender == slot) return out = lent;
  out = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(lent.defined() ? lent.storage() : c.made[storage]),
                                                 c10::DispatchKeySet(c10::DispatchKey::CPU), s.like.dtype());
  out.unsafeGetTensorImpl()->set_sizes_and_strides(s.like.sizes(), s.like.strides(), s.like.storage_offset());
  if (s.like.is_neg()) out._set_neg(true);
  if (s.like.is_conj()) out._set_conj(true);
  return out;
}

bool Plan::run(Run& run) {
  struct Returned {  // also where an operator throws
    Plan& plan;
    std::unique_ptr<Context> context;
    ~Returned() {
      context->clear();
      plan.free_.push_back(std::move(context));
    }
  } taken{*this, take()};
  Context& c = *taken.context;
  bool complete = false;
  {
    const pybind11::gil_scoped_release no_gil;
    for (size_t i = 0; i < storages_.size(); ++i) {
      const Storage& s = storages_[i];
      if (s.kind == Storage::Kind::kInput) {
        // What looks at the input looks as far from where it begins as when it was recorded.
        const at::Tensor& input = run.inputs[static_cast<size_t>(s.input)];
        const c10::Storage& from = input.storage();
        const auto moved = static_cast<ptrdiff_t>(static_cast<size_t>(input.storage_offset()) * input.itemsize()) -
                           static_cast<ptrdiff_t>(s.offset);
        c.setAddress(i, static_cast<char*>(from.mutable_data()) + moved, from.nbytes());
      } else if (s.kind == Storage::Kind::kOutput) {
        c.made[i] = c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), s.bytes,
                                                                       c10::GetCPUAllocator(), /*resizable=*/true));
        c.setAddress(i, c.made[i].mutable_data(), s.bytes);
      }
    }
    complete = runSteps(c, run);
    c.is_new = c.is_new && !complete;
    if (complete) makeViews(c, run);
  }
  if (complete)
    for (const int64_t slot : outputs_) run.outputs.push_back(real(c, slot, run));
  return complete;
}

// With what eager code's views know of their base, so through all of the dispatcher but autocast.
void Plan::makeViews(Context& c, const Run& run) const {
  const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
  for (const size_t step : views_) {
    for (const int64_t slot : program_->slotsOf(step)) c.reals[static_cast<size_t>(slot)] = real(c, slot, run);
    torch::jit::Stack stack = program_->stackOf(step, c.reals);
    const c10::AutoGradMode as_recorded(program_->steps_[step].grad_mode);
    program_->steps_[step].op->callBoxed(stack);
    size_t at = 0;
    const std::vector<int64_t> results = program_->resultsOf(step);
    for (const c10::IValue& v : stack) {
      if (v.isTensor())
        c.reals[static_cast<size_t>(results[at++])] = v.toTensor();
      else
        for (const at::Tensor& t : v.toTensorVector()) c.reals[static_cast<size_t>(results[at++])] = t;
    }
  }
}

bool Plan::runSteps(Context& c, Run& run) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
  torch::jit::Stack stack;
  std::vector<void*> addresses, results;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    run.step = i;
    if (s.kind == Kind::kAssignGrad) {
      const auto input = static_cast<size_t>(s.input);
      at::Tensor grad = s.slot < 0 ? at::Tensor() : real(c, s.slot, run);
      if (run.grads != nullptr) {
        (*run.grads)[input] = std::move(grad);
        (*run.has_grad)[input] = true;
      } else {
        run.inputs[input].mutable_grad() = std::move(grad);
      }
      continue;
    }
    if (s.kind == Kind::kFused && s.group != nullptr) {
      const auto addressesOf = [&](const std::vector<Place>& places) {
        addresses.clear();
        for (const Place& p : places)
          addresses.push_back(static_cast<char*>(c.storages[p.storage]->mutable_data()) + p.offset);
      };
      addressesOf(s.to);
      results.assign(addresses.begin(), addresses.end());
      addressesOf(s.from);
      s.group->run(addresses, results);
    }
    if (s.kind == Kind::kView || s.kind == Kind::kFused) continue;
    if (s.constant >= 0 && !c.is_new) continue;
    stack = c.stacks[i];
    // Kernels are given such lists themselves, and _unsafe_masked_index_put_accumulate puts other indices into it.
    if (s.has_optional_lists)
      for (c10::IValue& v : stack)
        if (v.isOptionalTensorList()) v = v.toOptionalTensorList().copy();
    callHost(*s.op, stack, run.host_time);
    if (s.expected && *s.expected != (stack[0].isBool() ? stack[0].toBool() : stack[0].toScalar().to<bool>()))
      return false;
    if (s.constant >= 0) {
      c.tensors[static_cast<size_t>(s.constant)].copy_(stack[0].toTensor());
      continue;
    }
    const auto bind = [&](int64_t slot, at::Tensor result) {
      if (slot < 0) return;
      const Slot& to = slots_[static_cast<size_t>(slot)];
      TORCH_CHECK(result.sizes() == to.like.sizes() && result.strides() == to.like.strides(),
                  "shunt_torch: ", program_->nameOf(s.of),
                  " gave a result of other sizes or strides than when it was recorded");
      const c10::Storage& from = result.storage();
      c.setAddress(static_cast<size_t>(to.storage), from.mutable_data(), from.nbytes());
      c.held[static_cast<size_t>(to.storage)] = std::move(result);
    };
    for (size_t r = 0; r < s.lent.size(); ++r) {
      const std::vector<int64_t>& slots = s.lent[r];
      if (slots.empty()) continue;
      if (stack[r].isTensor()) {
        bind(slots[0], std::move(stack[r]).toTensor());
      } else if (stack[r].isTensorList()) {
        const auto list = stack[r].toTensorList();
        for (size_t k = 0; k < slots.size(); ++k) bind(slots[k], list.get(k));
      }
    }
  }
  return true;
}

std::vector<at::Tensor> Plan::shapes() const {
  std::vector<at::Tensor> out;
  for (const Slot& s : slots_) out.push_back(s.like);
  return out;
}

py::list Plan::describe() const {
  static constexpr std::array kPlaces = {"host", "view", "fused", "assign"};
  py::list out;
  for (const Step& s : steps_)
    out.append(py::make_tuple(kPlaces[static_cast<size_t>(s.kind)], program_->nameOf(s.of), program_->whereOf(s.of)));
  return out;
}

std::vector<std::string> Plan::groups() const {
  std::vector<std::string> out;
  for (const Step& s : steps_)
    if (s.group != nullptr) out.push_back(s.group->describe());
  return out;
}

}  // namespace shunt_torch
