#include "program.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <algorithm>

namespace shunt_torch {

int64_t Program::addInput() {
  TORCH_CHECK(steps_.empty(), "all inputs come before the first operator");
  ++inputs_;
  return newSlot();
}

namespace {

bool isTensorList(const c10::TypePtr& type, bool& of_optionals) {
  c10::TypePtr t = type;
  if (const auto optional = t->cast<c10::OptionalType>()) t = optional->getElementType();
  const auto list = t->cast<c10::ListType>();
  if (list == nullptr) return false;
  const c10::TypePtr element = list->getElementType();
  if (element->kind() == c10::TypeKind::TensorType) return of_optionals = false, true;
  const auto optional = element->cast<c10::OptionalType>();
  of_optionals = true;
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::TensorType;
}

bool isTensor(const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) return isTensor(optional->getElementType());
  return type->kind() == c10::TypeKind::TensorType;
}

// A number in the place of a tensor, as operators of Python are given: it doesn't decide the dtype of a result.
at::Tensor wrappedNumber(const py::handle& value) {
  at::Tensor t;
  if (PyBool_Check(value.ptr()))
    t = at::scalar_to_tensor(at::Scalar(value.cast<bool>()));
  else if (PyLong_Check(value.ptr()))
    t = at::scalar_to_tensor(at::Scalar(value.cast<int64_t>()));
  else if (PyComplex_Check(value.ptr()))
    t = at::scalar_to_tensor(at::Scalar(value.cast<c10::complex<double>>()));
  else
    t = at::scalar_to_tensor(at::Scalar(value.cast<double>()));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

// Operators that on the CPU are loops over their list, of these operators; those can be fused.
const char* elementOf(const std::string& name, const std::string& overload) {
  if (overload != "Scalar" && overload != "Tensor") return nullptr;
  if (name == "aten::_foreach_add_" && overload == "Scalar") return "aten::add_";
  if (name == "aten::_foreach_sub_" && overload == "Scalar") return "aten::sub_";
  if (name == "aten::_foreach_mul_") return "aten::mul_";
  if (name == "aten::_foreach_div_") return "aten::div_";
  return nullptr;
}

}  // namespace

std::vector<size_t> unannotatedWrites(const std::string& name) {
  // Mean and variance that run along.
  if (name == "aten::native_batch_norm" || name == "aten::miopen_batch_norm" || name == "aten::cudnn_batch_norm")
    return {3, 4};
  return {};
}

Program::Argument Program::argumentOf(const c10::Argument& schema, const py::handle& value) const {
  const auto indexOf = [](const py::handle& o) {
    if (o.is_none()) return int64_t{-1};
    TORCH_CHECK(py::isinstance<Slot>(o), "a list of tensors has something else in it");
    return o.cast<Slot>().index;
  };
  if (py::isinstance<Slot>(value)) return {Place::kSlot, {}, {value.cast<Slot>().index}};
  if (THPVariable_Check(value.ptr())) return {Place::kLiteral, THPVariable_Unpack(value.ptr())};
  bool of_optionals = false;
  if (isTensorList(schema.type(), of_optionals) && !value.is_none()) {
    Argument a{of_optionals ? Place::kOptionalList : Place::kList};
    for (const py::handle& item : py::reinterpret_borrow<py::sequence>(value)) a.slots.push_back(indexOf(item));
    return a;
  }
  if (isTensor(schema.type()) &&
      (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyComplex_Check(value.ptr())))
    return {Place::kLiteral, wrappedNumber(value)};
  if (isTensor(schema.type()) && value.is_none() && schema.type()->kind() == c10::TypeKind::TensorType)
    return {Place::kLiteral, at::Tensor()};
  return {Place::kLiteral, torch::jit::toIValue(value, schema.type(), schema.N())};
}

std::vector<int64_t> Program::callNorms(const py::tuple& args, const py::dict& kwargs,
                                        const std::vector<std::vector<bool>>& results, const std::string& where) {
  const auto argument = [&](size_t i, const char* name, const py::object& otherwise) -> py::object {
    if (i < args.size()) return args[i];
    return kwargs.contains(name) ? py::object(kwargs[name]) : otherwise;
  };
  const py::object order = argument(1, "ord", py::int_(2)), dtype = argument(2, "dtype", py::none());
  std::vector<int64_t> out;
  for (const py::handle& t : py::reinterpret_borrow<py::sequence>(args[0])) {
    const std::vector<int64_t> norm =
        call("aten::linalg_vector_norm", "", py::make_tuple(t, order, py::none(), false, dtype), {},
             {{results[0][out.size()]}}, where);
    out.push_back(norm[0]);
  }
  return out;
}

std::vector<int64_t> Program::call(const std::string& name, const std::string& overload, const py::tuple& args,
                                   const py::dict& kwargs, const std::vector<std::vector<bool>>& results,
                                   const std::string& where) {
  if (name == "aten::_foreach_norm" && overload == "Scalar") return callNorms(args, kwargs, results, where);
  if (const char* const element = elementOf(name, overload); element != nullptr && args.size() == 2) {
    for (const py::handle& t : py::reinterpret_borrow<py::sequence>(args[0]))
      call(element, "Tensor", py::make_tuple(t, args[1]), {}, {{false}}, where);
    return {};
  }
  Step s{Kind::kCall, overload.empty() ? name : name + '.' + overload, where};
  s.op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
  s.grad_mode = c10::GradMode::is_enabled();
  const c10::FunctionSchema& schema = s.op->schema();
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& a = schema.arguments()[i];
    if (i < args.size())
      s.arguments.push_back(argumentOf(a, args[i]));
    else if (kwargs.contains(a.name().c_str()))
      s.arguments.push_back(argumentOf(a, kwargs[a.name().c_str()]));
    else {
      TORCH_CHECK(a.default_value().has_value(), s.name, ": argument '", a.name(), "' is missing");
      s.arguments.push_back({Place::kLiteral, *a.default_value()});
    }
  }
  std::vector<int64_t> out;
  for (const std::vector<bool>& of_return : results) {
    s.results.emplace_back();
    for (const bool defined : of_return) {
      s.results.back().push_back(defined ? newSlot() : -1);
      out.push_back(s.results.back().back());
    }
  }
  s.effects = std::exchange(next_, {});
  steps_.push_back(std::move(s));
  return out;
}

void Program::expect(bool value) {
  steps_.back().expected = value;
  // Where the run ends here, grads have to be as they were.
  std::stable_partition(steps_.begin(), steps_.end(), [](const Step& s) { return s.kind != Kind::kAssignGrad; });
}

void Program::assignGrad(int64_t input, std::optional<int64_t> slot) {
  Step s{Kind::kAssignGrad, "grad = ", ""};
  s.input = input;
  s.slot = slot.value_or(-1);
  steps_.push_back(std::move(s));
}

int64_t Program::writesBefore(size_t step, int64_t input) const {
  int64_t out = 0;
  for (size_t i = 0; i < step; ++i)
    out += std::count(steps_[i].effects.writes.begin(), steps_[i].effects.writes.end(), input);
  return out;
}

bool Program::draws() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.effects.draws; });
}

void Program::addOutput(int64_t slot) { outputs_.push_back(slot); }

std::vector<int64_t> Program::slotsOf(size_t step) const {
  std::vector<int64_t> out;
  for (const Argument& a : steps_[step].arguments)
    for (const int64_t slot : a.slots)
      if (slot >= 0) out.push_back(slot);
  return out;
}

std::vector<int64_t> Program::resultsOf(size_t step) const {
  std::vector<int64_t> out;
  for (const auto& of_return : steps_[step].results) out.insert(out.end(), of_return.begin(), of_return.end());
  return out;
}

std::vector<int64_t> Program::writtenBy(size_t step) const {
  std::vector<int64_t> out;
  const Step& s = steps_[step];
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const auto* const alias = s.op->schema().arguments()[i].alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    std::copy_if(s.arguments[i].slots.begin(), s.arguments[i].slots.end(), std::back_inserter(out),
                 [](int64_t slot) { return slot >= 0; });
  }
  return out;
}

void Program::finish(const std::vector<int64_t>& views) {
  // Grads are assigned as late as can be: a run that ends before that has changed nothing.
  const auto end = std::find_if(steps_.begin(), steps_.end(), [](const Step& s) { return s.effects.touches; });
  const auto assigned =
      std::stable_partition(steps_.begin(), end, [](const Step& s) { return s.kind != Kind::kAssignGrad; });
  harmless_ = static_cast<size_t>(assigned - steps_.begin());
  draws_while_harmless_ = std::any_of(steps_.begin(), assigned, [](const Step& s) { return s.effects.draws; });
  std::vector<bool> is_view(slots_, false), seen(slots_, false);
  for (const int64_t v : views) is_view[static_cast<size_t>(v)] = true;
  for (const int64_t o : outputs_) seen[static_cast<size_t>(o)] = true;
  // A caller holds the inputs in any case, and a run is given its own handles of them.
  for (size_t i = 0; i < inputs_; ++i) seen[i] = true;
  for (size_t i = steps_.size(); i-- > 0;) {
    Step& s = steps_[i];
    s.dead.clear();
    const auto use = [&](int64_t slot) {
      if (slot < 0 || seen[static_cast<size_t>(slot)]) return;
      seen[static_cast<size_t>(slot)] = true;
      s.dead.push_back(slot);
    };
    for (const Argument& a : s.arguments)
      for (const int64_t slot : a.slots) use(slot);
    use(s.slot);
    for (const auto& of_return : s.results)
      for (const int64_t slot : of_return) {
        use(slot);
        s.as_eager |= slot >= 0 && is_view[static_cast<size_t>(slot)];
      }
  }
}

torch::jit::Stack Program::stackOf(size_t step, const std::vector<at::Tensor>& tensors,
                                   const std::vector<int64_t>& outs) const {
  torch::jit::Stack stack;
  stack.reserve(steps_[step].arguments.size() + outs.size());
  const auto tensorOf = [&](int64_t slot) { return slot < 0 ? at::Tensor() : tensors[static_cast<size_t>(slot)]; };
  for (const Argument& a : steps_[step].arguments) {
    switch (a.place) {
      case Place::kLiteral:
        stack.push_back(a.literal);
        break;
      case Place::kSlot:
        stack.emplace_back(tensorOf(a.slots[0]));
        break;
      case Place::kList: {
        c10::List<at::Tensor> list;
        list.reserve(a.slots.size());
        for (const int64_t slot : a.slots) list.push_back(tensorOf(slot));
        stack.emplace_back(std::move(list));
        break;
      }
      case Place::kOptionalList: {
        c10::List<std::optional<at::Tensor>> list;
        list.reserve(a.slots.size());
        for (const int64_t slot : a.slots) list.push_back(slot < 0 ? std::nullopt : std::optional(tensorOf(slot)));
        stack.emplace_back(std::move(list));
        break;
      }
    }
  }
  for (const int64_t slot : outs) stack.emplace_back(tensorOf(slot));
  return stack;
}

bool Program::run(Run& run) const {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
  const c10::impl::LocalDispatchKeySet below = c10::impl::tls_local_dispatch_key_set();
  const c10::DispatchKeySet history = c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  const c10::AutoGradMode grad_mode(true);  // set by each step, put back at the end
  torch::jit::Stack stack;
  run.slots.resize(slots_);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    run.step = i;
    if (s.kind == Kind::kAssignGrad) {
      const auto input = static_cast<size_t>(s.input);
      at::Tensor grad = s.slot < 0 ? at::Tensor() : run.slots[static_cast<size_t>(s.slot)];
      if (run.grads != nullptr) {
        (*run.grads)[input] = std::move(grad);
        (*run.has_grad)[input] = true;
      } else {
        run.slots[input].mutable_grad() = std::move(grad);
      }
    } else {
      if (run.observer) run.observer(i, false);
      stack = stackOf(i, run.slots);
      c10::GradMode::set_enabled(s.grad_mode);
      if (s.as_eager) {
        const c10::impl::ForceDispatchKeyGuard with_views(below.included_, below.excluded_ - history);
        s.op->callBoxed(stack);
      } else {
        s.op->callBoxed(stack);
      }
      if (s.expected && *s.expected != (stack[0].isBool() ? stack[0].toBool() : stack[0].toScalar().to<bool>()))
        return false;
      for (size_t r = 0; r < s.results.size(); ++r) {
        const std::vector<int64_t>& slots = s.results[r];
        if (stack[r].isTensor()) {
          if (slots[0] >= 0) run.slots[static_cast<size_t>(slots[0])] = std::move(stack[r]).toTensor();
        } else if (stack[r].isTensorList()) {
          const auto list = stack[r].toTensorList();
          for (size_t k = 0; k < slots.size(); ++k)
            if (slots[k] >= 0) run.slots[static_cast<size_t>(slots[k])] = list.get(k);
        }
      }
    }
    if (run.observer && s.kind == Kind::kCall) run.observer(i, true);
    if (run.keep) continue;
    for (const int64_t dead : s.dead) run.slots[static_cast<size_t>(dead)].reset();
  }
  return true;
}

py::list Program::describe() const {
  py::list out;
  for (const Step& s : steps_) out.append(py::make_tuple(s.kind == Kind::kCall ? "host" : "assign", s.name, s.where));
  return out;
}

}  // namespace shunt_torch
