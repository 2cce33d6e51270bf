#include "plan_builder.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <map>

namespace shunt_torch {
namespace {

using Overloads = std::unordered_map<std::string, std::vector<c10::OperatorHandle>>;

// By name, those with an argument that is called as results are: found once, since there are some 3,000 operators.
const Overloads& outOverloads() {
  static const Overloads all = [] {
    Overloads out;
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      const auto op = dispatcher.findSchema(name);
      if (!op || name.overload_name.empty()) continue;
      const auto& arguments = op->schema().arguments();
      const bool writes_last = !arguments.empty() && arguments.back().kwarg_only() &&
                               arguments.back().alias_info() != nullptr && arguments.back().alias_info()->isWrite();
      if (writes_last && op->hasKernelForDispatchKey(c10::DispatchKey::CPU)) out[name.name].push_back(*op);
    }
    return out;
  }();
  return all;
}

bool isOutOf(const c10::FunctionSchema& functional, const c10::FunctionSchema& out) {
  const auto &a = functional.arguments(), &b = out.arguments();
  const size_t results = functional.returns().size();
  if (b.size() < results) return false;
  // The out overload of an operator with a dtype, as sum, has it; that of a factory hasn't.
  if (b.size() != a.size() + results) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].name() != b[i].name() || !(*a[i].type() == *b[i].type())) return false;
  for (size_t i = a.size(); i < b.size(); ++i)
    if (b[i].alias_info() == nullptr || !b[i].alias_info()->isWrite() ||
        b[i].type()->kind() != c10::TypeKind::TensorType)
      return false;
  return true;
}

bool writes(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(),
                     [](const c10::Argument& a) { return a.alias_info() != nullptr && a.alias_info()->isWrite(); });
}

// Their results hold nothing, so memory is enough.
bool onlyAllocates(const std::string& name) {
  return name == "aten::empty" || name == "aten::empty_like" || name == "aten::empty_strided" ||
         name == "aten::new_empty" || name == "aten::new_empty_strided";
}

// Their results depend on no tensor's elements.
bool isConstant(const std::string& name) {
  static const std::set<std::string> names = {
      "aten::ones_like", "aten::zeros_like", "aten::full_like", "aten::ones",     "aten::zeros",
      "aten::full",      "aten::new_ones",   "aten::new_zeros", "aten::new_full", "aten::scalar_tensor",
      "aten::arange",    "aten::eye",        "aten::linspace"};
  return names.contains(name);
}

class Warned : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override { warned = true; }
  bool warned = false;
};

constexpr size_t kAlignment = 64;

}  // namespace

std::optional<c10::OperatorHandle> outVariantOf(const c10::OperatorHandle& op) {
  const auto found = outOverloads().find(op.schema().name());
  if (found == outOverloads().end()) return std::nullopt;
  for (const c10::OperatorHandle& candidate : found->second)
    if (isOutOf(op.schema(), candidate.schema())) return candidate;
  return std::nullopt;
}

Plan::Builder::Builder(Plan& plan, const Program& program, const std::vector<at::Tensor>& trace, Numerics numerics,
                       std::set<size_t>& blocked)
    : plan_(plan), program_(program), trace_(trace), numerics_(numerics), blocked_(blocked) {}

void Plan::Builder::use(int64_t slot, size_t step) {
  if (slot < 0 || plan_.slots_[static_cast<size_t>(slot)].storage < 0) return;
  Storage& s = plan_.storages_[static_cast<size_t>(plan_.slots_[static_cast<size_t>(slot)].storage)];
  s.first = std::min(s.first, step);
  s.last = std::max(s.last, step);
}

// For each slot the input that moves in its storage by itself and whose memory it shows, or -1.
std::vector<int64_t> Plan::Builder::movingInputs() const {
  std::vector<int64_t> out(trace_.size(), -1);
  std::set<const void*> storages;
  const auto storageOf = [&](int64_t slot) -> const void* {
    const at::Tensor& t = trace_[static_cast<size_t>(slot)];
    return t.defined() && t.has_storage() ? t.storage().unsafeGetStorageImpl() : nullptr;
  };
  for (const int64_t input : program_.moving_) {
    out[static_cast<size_t>(input)] = input;
    storages.insert(storageOf(input));
  }
  if (storages.empty()) return out;
  for (size_t i = 0; i < program_.steps_.size(); ++i) {
    const std::vector<int64_t> sources = program_.slotsOf(i);
    for (const int64_t slot : program_.resultsOf(i))
      if (slot >= 0 && !sources.empty() && storages.contains(storageOf(slot)))
        out[static_cast<size_t>(slot)] = out[static_cast<size_t>(sources[0])];
  }
  return out;
}

std::string Plan::Builder::build() {
  const std::vector<int64_t> moving = movingInputs();
  std::map<std::pair<const void*, int64_t>, int32_t> numbers;
  for (size_t i = 0; i < trace_.size(); ++i) {
    Slot slot;
    if (trace_[i].defined()) {
      if (!trace_[i].has_storage() || !trace_[i].device().is_cpu()) return "a tensor without memory on the CPU";
      const c10::StorageImpl* const s = trace_[i].storage().unsafeGetStorageImpl();
      const auto [it, is_new] = numbers.try_emplace({s, moving[i]}, static_cast<int32_t>(plan_.storages_.size()));
      if (is_new) {
        Storage storage;
        storage.bytes = s->nbytes();
        storage.first = SIZE_MAX;
        if (i < program_.inputs_) {
          storage.kind = Storage::Kind::kInput;
          storage.input = static_cast<int64_t>(i);
          storage.offset = static_cast<size_t>(trace_[i].storage_offset()) * trace_[i].itemsize();
        }
        plan_.storages_.push_back(storage);
      }
      slot.storage = it->second;
      slot.like = trace_[i];
    }
    plan_.slots_.push_back(std::move(slot));
  }
  const auto leaves = [&](int64_t slot) {
    if (slot < 0) return;
    Storage& s = plan_.storages_[static_cast<size_t>(plan_.slots_[static_cast<size_t>(slot)].storage)];
    if (s.kind == Storage::Kind::kInside) s.kind = Storage::Kind::kOutput;
  };
  for (const int64_t slot : program_.outputs_) leaves(slot);
  for (const Program::Step& s : program_.steps_)
    if (s.kind == Program::Kind::kAssignGrad) leaves(s.slot);
  if (std::string why = outputsFit(); !why.empty()) return why;
  findUses();
  for (size_t i = 0; i < program_.steps_.size(); ++i) addCall(i);
  plan_.outputs_ = program_.outputs_;
  fuse();
  layOut();
  // Only their sizes, strides and dtype are wanted, not the memory of the run that they come from.
  for (Slot& s : plan_.slots_) {
    if (s.storage < 0) continue;
    auto impl = s.like.unsafeGetTensorImpl()->shallow_copy_and_detach(
        s.like.is_inference() ? c10::VariableVersion(c10::VariableVersion::DISABLED) : c10::VariableVersion(0), true);
    impl->set_storage_keep_dtype(c10::Storage(c10::make_intrusive<c10::StorageImpl>(
        c10::StorageImpl::use_byte_size_t(), 0, c10::DataPtr(nullptr, at::kCPU), nullptr, false)));
    s.like = at::Tensor(std::move(impl));
  }
  return "";
}

std::string Plan::Builder::outputsFit() {
  const auto storageKind = [&](int64_t slot) {
    return plan_.storages_[static_cast<size_t>(plan_.slots_[static_cast<size_t>(slot)].storage)].kind;
  };
  std::set<int64_t> is_view;
  for (size_t i = 0; i < program_.steps_.size(); ++i) {
    if (!program_.steps_[i].as_eager) continue;
    plan_.views_.push_back(i);
    const std::vector<int64_t> results = program_.resultsOf(i);
    is_view.insert(results.begin(), results.end());
  }
  for (const Program::Step& s : program_.steps_) {
    if (s.kind == Program::Kind::kAssignGrad && s.slot >= static_cast<int64_t>(program_.inputs_)) {
      const Slot& slot = plan_.slots_[static_cast<size_t>(s.slot)];
      if (plan_.storages_[static_cast<size_t>(slot.storage)].kind == Storage::Kind::kInput)
        return "a grad is a view of an input";
    }
    if (s.kind == Program::Kind::kCall && s.op->schema().name().rfind("aten::", 0) != 0)
      return "an operator isn't PyTorch's: " + s.name;
  }
  for (const int64_t slot : program_.outputs_)
    if (storageKind(slot) == Storage::Kind::kInput && !is_view.contains(slot)) return "a result is memory of an input";
  return "";
}

bool Plan::Builder::isWritten(int64_t slot) const {
  const int32_t storage = plan_.slots_[static_cast<size_t>(slot)].storage;
  if (plan_.storages_[static_cast<size_t>(storage)].kind != Storage::Kind::kInside) return true;
  return written_[static_cast<size_t>(storage)];
}

void Plan::Builder::findUses() {
  uses_.assign(plan_.storages_.size(), {});
  written_.assign(plan_.storages_.size(), false);
  for (size_t i = 0; i < program_.steps_.size(); ++i) {
    const Program::Step& s = program_.steps_[i];
    const auto use = [&](int64_t slot, bool is_written) {
      const int32_t storage = slot < 0 ? -1 : plan_.slots_[static_cast<size_t>(slot)].storage;
      if (storage < 0) return;
      uses_[static_cast<size_t>(storage)].push_back(i);
      if (is_written) written_[static_cast<size_t>(storage)] = true;
    };
    use(s.slot, false);
    const std::vector<size_t> unannotated =
        s.kind == Program::Kind::kCall ? unannotatedWrites(s.op->schema().name()) : std::vector<size_t>();
    for (size_t k = 0; k < s.arguments.size(); ++k) {
      const auto* const alias = s.op->schema().arguments()[k].alias_info();
      const bool is_written = (alias != nullptr && alias->isWrite()) ||
                              std::find(unannotated.begin(), unannotated.end(), k) != unannotated.end();
      for (const int64_t slot : s.arguments[k].slots) use(slot, is_written);
    }
  }
}

// Some resize their result in between, as mse_loss does, which warns.
bool Plan::Builder::fits(const c10::OperatorHandle& out, size_t step, const std::vector<int64_t>& results) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Warned handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  torch::jit::Stack stack = program_.stackOf(step, trace_);
  std::vector<at::Tensor> given;
  for (const int64_t slot : results) {
    const at::Tensor& like = trace_[static_cast<size_t>(slot)];
    given.push_back(at::detail::empty_strided_cpu(like.sizes(), like.strides(), like.scalar_type()));
    stack.emplace_back(given.back());
  }
  try {
    out.callBoxed(stack);
  } catch (const std::exception&) {
    return false;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const at::Tensor& like = trace_[static_cast<size_t>(results[i])];
    if (given[i].sizes() != like.sizes() || given[i].strides() != like.strides()) return false;
  }
  return !handler.warned;
}

void Plan::Builder::addCall(size_t i) {
  const Program::Step& from = program_.steps_[i];
  Step s{Kind::kCall, i};
  if (from.kind == Program::Kind::kAssignGrad) {
    s.kind = Kind::kAssignGrad;
    s.input = from.input;
    s.slot = from.slot;
    use(s.slot, i);
    plan_.steps_.push_back(std::move(s));
    return;
  }
  s.op = from.op;
  s.expected = from.expected;
  for (const Program::Argument& a : from.arguments) {
    for (const int64_t slot : a.slots) use(slot, i);
    s.has_optional_lists |= a.place == Program::Place::kOptionalList;
  }
  // Results in memory that is there already need nothing; where all are such ones, a call that writes nothing is a
  // view.
  std::vector<int64_t> fresh;
  for (const auto& of_return : from.results)
    for (const int64_t slot : of_return) {
      if (slot < 0) continue;
      const Storage& storage = plan_.storages_[static_cast<size_t>(plan_.slots_[static_cast<size_t>(slot)].storage)];
      if (storage.kind != Storage::Kind::kInput && storage.first == SIZE_MAX) fresh.push_back(slot);
    }
  for (const auto& of_return : from.results)
    for (const int64_t slot : of_return) use(slot, i);
  const bool has_results = !from.results.empty() && !from.expected;
  if (has_results && fresh.empty() && !writes(from.op->schema())) {
    s.kind = Kind::kView;
    plan_.steps_.push_back(std::move(s));
    return;
  }
  const bool is_constant = fresh.size() == 1 && isConstant(from.op->schema().name()) && !isWritten(fresh[0]);
  if (!is_constant && !blocked_.contains(i) && FusedGroup::canFuse(program_, i, trace_, numerics_)) {
    s.kind = Kind::kFused;
    plan_.steps_.push_back(std::move(s));
    return;
  }
  auto out = std::optional<c10::OperatorHandle>();
  const bool whole =
      fresh.size() == from.results.size() &&
      std::all_of(from.results.begin(), from.results.end(), [](const auto& r) { return r.size() == 1 && r[0] >= 0; });
  if (whole && onlyAllocates(from.op->schema().name())) {
    s.kind = Kind::kView;
  } else if (whole && is_constant) {
    s.constant = fresh[0];
    Storage& storage = plan_.storages_[static_cast<size_t>(plan_.slots_[static_cast<size_t>(fresh[0])].storage)];
    storage.first = 0;  // nothing else may lie there, in any run
    storage.last = SIZE_MAX;
  } else if (whole && !writes(from.op->schema()) && (out = outVariantOf(*from.op)) && fits(*out, i, fresh)) {
    s.op = out;
    s.outs = fresh;
  } else if (!fresh.empty()) {
    for (const auto& of_return : from.results) {
      s.lent.emplace_back();
      for (const int64_t slot : of_return) {
        const bool is_fresh = std::find(fresh.begin(), fresh.end(), slot) != fresh.end();
        s.lent.back().push_back(is_fresh ? slot : -1);
        if (!is_fresh) continue;
        Storage& storage = plan_.storages_[static_cast<size_t>(plan_.slots_[static_cast<size_t>(slot)].storage)];
        storage.kind = Storage::Kind::kLent;
        storage.lender = slot;
      }
    }
  }
  plan_.steps_.push_back(std::move(s));
}

// Neighbours are those with nothing but views and assignments of grads between them, which change no memory.
void Plan::Builder::fuse() {
  std::vector<size_t> all;
  const auto end = [&] {
    while (!all.empty() && plan_.steps_[all.back()].kind != Kind::kFused) all.pop_back();
    if (!all.empty()) makeGroup(all);
    all.clear();
  };
  for (size_t i = 0; i < plan_.steps_.size(); ++i) {
    const Kind kind = plan_.steps_[i].kind;
    if (kind == Kind::kCall) end();
    if (kind == Kind::kFused || (kind != Kind::kCall && !all.empty())) all.push_back(i);
  }
  end();
}

// The group runs in the place of its first member. Of the memory that it uses all lives as long as the whole group.
void Plan::Builder::makeGroup(const std::vector<size_t>& members) {
  std::vector<size_t> operators;
  for (const size_t i : members)
    if (plan_.steps_[i].kind != Kind::kAssignGrad) operators.push_back(i);
  const auto storageOf = [&](int64_t slot) {
    return static_cast<size_t>(plan_.slots_[static_cast<size_t>(slot)].storage);
  };
  // By steps that are no members. A view reads nothing; what reads it counts.
  const auto isUsed = [&](size_t storage) {
    if (plan_.storages_[storage].kind == Storage::Kind::kOutput) return true;
    return std::any_of(uses_[storage].begin(), uses_[storage].end(), [&](size_t i) {
      const bool is_member = i >= members.front() && i <= members.back() && plan_.steps_[i].kind == Kind::kFused;
      return !is_member && plan_.steps_[i].kind != Kind::kView;
    });
  };
  std::vector<bool> used_later(plan_.slots_.size(), false);
  for (const size_t i : operators)
    for (const int64_t slot : program_.resultsOf(i))
      if (slot >= 0 && plan_.slots_[static_cast<size_t>(slot)].storage >= 0)
        used_later[static_cast<size_t>(slot)] = isUsed(storageOf(slot));
  auto group = FusedGroup::make(program_, operators, trace_, used_later, numerics_, blocked_);
  if (group == nullptr) return;
  Step& first = plan_.steps_[members.front()];
  const auto placeOf = [&](int64_t slot) {
    const at::Tensor& t = trace_[static_cast<size_t>(slot)];
    return Place{storageOf(slot), static_cast<size_t>(t.storage_offset()) * t.itemsize()};
  };
  for (const int64_t slot : group->inputs()) first.from.push_back(placeOf(slot));
  for (const int64_t slot : group->results()) first.to.push_back(placeOf(slot));
  for (const auto* const slots : {&group->inputs(), &group->results()})
    for (const int64_t slot : *slots) use(slot, members.front()), use(slot, members.back());
  first.group = std::move(group);
}

// What isn't used any more makes room: each storage takes the lowest place that no other has while it lives.
void Plan::Builder::layOut() {
  std::vector<Storage*> inside;
  for (Storage& s : plan_.storages_)
    if (s.kind == Storage::Kind::kInside && s.first != SIZE_MAX) inside.push_back(&s);
  std::stable_sort(inside.begin(), inside.end(),
                   [](const Storage* a, const Storage* b) { return a->first < b->first; });
  std::multimap<size_t, Storage*> placed;  // by offset
  for (Storage* s : inside) {
    size_t at = 0;
    for (auto it = placed.begin(); it != placed.end();) {
      Storage* const other = it->second;
      if (other->last < s->first) {
        it = placed.erase(it);
        continue;
      }
      if (at + s->bytes <= other->offset) break;
      at = std::max(at, (other->offset + other->bytes + kAlignment - 1) / kAlignment * kAlignment);
      ++it;
    }
    s->offset = at;
    placed.emplace(at, s);
    plan_.block_ = std::max(plan_.block_, at + s->bytes);
  }
}

}  // namespace shunt_torch
