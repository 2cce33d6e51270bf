// Functionalize's fallback: what one operator called with functional tensors does. See Note [Functional tensors].
#include "src/transforms/functionalize/forms.h"
#include "src/transforms/functionalize/functional_tensor.h"
#include "src/transforms/functionalize/twins.h"
#include "src/transforms/vmap/levels.h"

#include "src/autograd/graph_task.h"
#include "src/base/immortal.h"
#include "src/core/alias_sets.h"
#include "src/dispatch/reliance.h"

#include <shunt/autograd/as_strided_backward.h>
#include <shunt/autograd/graph_tensor.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/core/library.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/ops.h>
#include <shunt/tensor/memory_overlap.h>
#include <shunt/transforms/functionalize.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

namespace shunt::functional {
namespace {

/// A tensor of the call, and what stands for it below: the value of a functional one of this level, every other itself.
struct Operand {
  Tensor tensor;
  FunctionalTensor* functional;
  Tensor value;
};

/// What the plain call does to a written tensor: null where its sizes and strides stay.
using NewGeometry = std::unique_ptr<const autograd::TensorGeometry>;

/// A written argument that is given.
struct Written {
  size_t position;  // among the arguments
  FunctionalTensor* tensor;
  NewGeometry geometry = nullptr;
};

/// The arguments of one call, the last values of the caller's stack.
class Call {
 public:
  Call(const OperatorHandle& op, DispatchKeySet keys, Stack* stack)
      : op_(op), keys_(keys), schema_(op.schema()), stack_(*stack), n_(schema_.arguments().size()) {
    forEachTensor(stack_, n_, [this](const Tensor& t) {
      FunctionalTensor* f = functionalOf(t);
      if (f != nullptr && isFromFurtherOut(*f)) f = nullptr;
      operands_.push_back({t, f, f != nullptr ? f->value() : t});
      any_functional_ |= f != nullptr;
    });
  }
  void run();

 private:
  /// Not a call anew, which would come back here with functional tensors of other levels.
  void runBelow() { op_.redispatchBoxed(keys_ & DispatchKeySet::fullAfter(DispatchKey::Functionalize), &stack_); }
  void runReading();
  void runWriting();
  void changeGeometry(FunctionalTensor& self, const FunctionalForm& form);
  void resize(FunctionalTensor& self, const NewGeometry& to);
  Stack compute(const FunctionalForm& form, const std::vector<Written>& written);
  std::vector<Written> writtenOrThrow() const;
  void checkApart(const std::vector<Written>& written) const;
  void checkResultsAreClear(const FunctionalForm& form) const;
  void checkResultsAreNew(const FunctionalForm* form, const std::vector<std::optional<size_t>>& returned) const;
  std::vector<std::optional<size_t>> rehearse(std::vector<Written>& written) const;
  void returnResults(const FunctionalForm* form, const std::vector<std::optional<size_t>>& returned, Stack results);
  /// Whether it is given what it writes: an optional argument may be left out.
  bool writes() const {
    for (size_t i = 0; i < n_; ++i) {
      const Argument& a = schema_.arguments()[i];
      if (a.is_write() && (detail::isGiven(argument(i)) || !a.type.optional)) return true;
    }
    return false;
  }

  const IValue& argument(size_t i) const { return stack_[stack_.size() - n_ + i]; }
  const Operand& operandOf(const Tensor& t) const {
    return *std::find_if(operands_.begin(), operands_.end(), [&](const Operand& o) { return o.tensor.is_same(t); });
  }
  IValue valueOf(const IValue& v) const {
    return mapTensors(v, [this](const Tensor& t) { return operandOf(t).value; });
  }
  Stack values() const {
    Stack out;
    for (size_t i = 0; i < n_; ++i) out.push_back(valueOf(argument(i)));
    return out;
  }
  Tensor wrapResult(const Tensor& result, size_t output) const;
  Link linkTo(const Operand& of, const Tensor& result, size_t output) const;

  OperatorHandle op_;
  DispatchKeySet keys_;
  const FunctionSchema& schema_;
  Stack& stack_;
  size_t n_;
  std::vector<Operand> operands_;
  bool any_functional_ = false;
};

// Composites that write to what they have made: what they call comes back here, one by one. A library's own has a
// kernel for Functionalize that does the same.
bool isTakenApart(const OperatorHandle& op) {
  constexpr std::string_view kNames[] = {"aten::dropout"};
  return std::find(std::begin(kNames), std::end(kNames), op.op().name()) != std::end(kNames);
}

void Call::run() {
  // A wrapper has no backend, so neither has this call.
  if (any_functional_ && isTakenApart(op_)) {
    detail::relyOn(op_.op());
    return op_.redispatchBoxed({}, &stack_);
  }
  const ModeOff off;
  // Plain tensors are constants. Formulas of a backward that runs inside a FunctionalizeGuard work on values.
  // Those of a level further in work on values that are functional here.
  const bool in_formula = autograd::runningNode() != nullptr && !levels::isBackwardFurtherIn();
  if (!any_functional_ && (!operands_.empty() || in_formula)) return runBelow();
  if (schema_.is_mutable() && writes())
    runWriting();
  else
    runReading();
}

// ---- operators that write nothing ---------------------------------------------------------------------------------
void Call::runReading() {
  Stack below = values();
  callBelow(op_, below);
  for (size_t i = 0; i < below.size(); ++i) {
    size_t element = 0;
    const bool list = below[i].isTensorList();
    below[i] = mapTensors(below[i], [&](const Tensor& t) { return wrapResult(t, list ? element++ : i); });
  }
  drop(stack_, n_);
  for (IValue& v : below) stack_.push_back(std::move(v));
}

Tensor Call::wrapResult(const Tensor& result, size_t output) const {
  for (const Operand& o : operands_)
    if (o.value.is_same(result)) return o.tensor;
  if (functionalOf(result) != nullptr) return result;
  for (const Operand& o : operands_) {
    if (!sharesMemory(result, o.value)) continue;
    if (o.functional == nullptr) return result;  // of a constant
    return wrapView(*o.functional, linkTo(o, result, output), result);
  }
  return wrapValue(result);
}

Link Call::linkTo(const Operand& of, const Tensor& result, size_t output) const {
  size_t tensors = 0, self = 0;
  for (size_t i = 0; i < n_; ++i) {
    forEachTensor(argument(i), [&](const Tensor&) { ++tensors; });
    if (argument(i).isTensor() && argument(i).toTensor().is_same(of.tensor)) self = i;
  }
  const bool changes_dtype = result.dtype() != of.value.dtype();
  if (tensors != 1 || !argument(self).isTensor()) {
    // Other tensors may change before the view is made again.
    SHUNT_CHECK(!changes_dtype, "operator ", op_.operator_name(),
                ": a view of another dtype that depends on several tensors can't be functionalized");
    return stridedLink(result.sizes(), result.strides(), result.storage_offset());
  }
  Stack args(stack_.end() - static_cast<ptrdiff_t>(n_), stack_.end());
  args[self] = IValue();
  return {op_, std::move(args), self, output, GradMode::is_enabled(), changes_dtype};
}

// ---- operators that write -----------------------------------------------------------------------------------------
std::vector<Written> Call::writtenOrThrow() const {
  std::vector<Written> out;
  for (size_t i = 0; i < n_; ++i) {
    const Argument& a = schema_.arguments()[i];
    if (!a.is_write() || (a.type.optional && !detail::isGiven(argument(i)))) continue;
    SHUNT_CHECK(argument(i).isTensor(), "operator ", op_.operator_name(), ": argument '", a.name,
                "' is a written list of tensors, which can't be functionalized");
    const bool defined = argument(i).toTensor().defined();
    if (!defined) rehearse(out);  // the operator says best what it wants
    FunctionalTensor* f = defined ? operandOf(argument(i).toTensor()).functional : nullptr;
    SHUNT_CHECK(f != nullptr, "operator ", op_.operator_name(), ": argument '", a.name, "' is ",
                defined ? "a plain tensor" : "undefined",
                ", but is written while another argument is a functional tensor: a plain tensor is a constant there. "
                "Wrap it with "
                "to_functional, or make it an argument of the functionalized function");
    out.push_back({i, f});
  }
  return out;
}

/// Of two new values for one place one would be lost.
void Call::checkApart(const std::vector<Written>& written) const {
  for (size_t i = 0; i < written.size(); ++i)
    for (size_t j = i + 1; j < written.size(); ++j) {
      const FunctionalTensor &a = *written[i].tensor, &b = *written[j].tensor;
      if (&a.base() != &b.base()) continue;
      const TensorImpl& first = *levels::inMemory(a.value()).unsafeGetTensorImpl();
      const TensorImpl& second = *levels::inMemory(b.value()).unsafeGetTensorImpl();
      const bool apart = &a != &b && first.has_storage() && second.has_storage() &&
                         first.storage() == second.storage() && memory_overlap(first, second) == MemoryOverlap::kNone;
      SHUNT_CHECK(apart, "operator ", op_.operator_name(), ": its arguments '",
                  schema_.arguments()[written[i].position].name, "' and '",
                  schema_.arguments()[written[j].position].name,
                  "', which it both writes, lie in one memory. That can't be functionalized: the operator that "
                  "computes their new values gives two for one place. clone() one of them");
    }
}

void Call::checkResultsAreClear(const FunctionalForm& form) const {
  if (!form.of_argument.empty()) return;
  std::string names;
  for (const Argument& a : schema_.arguments())
    if (a.is_write()) names += detail::str(names.empty() ? "'" : ", '", a.name, "'");
  throw Error(detail::str("operator ", op_.operator_name(), " can't be functionalized: it returns its arguments ",
                          names, " in another order than it takes them, so that the schema of ",
                          form.op.operator_name(),
                          ", which computes their new values, doesn't say which of its results is which. Give the "
                          "results the arguments' names there"));
}

// The plain call on fake tensors: throws what it would throw, and shows which geometry the written tensors get. Gives
// for each result the argument that it is.
std::vector<std::optional<size_t>> Call::rehearse(std::vector<Written>& written) const {
  // Not the program's call; and in this level, with its grad mode, not outside.
  const ExcludeDispatchKeyGuard no_modes({DispatchKey::PythonKernel, DispatchKey::Tracer, DispatchKey::Batched});
  Twins known;
  const auto twinOf = [&](const Tensor& t) {
    const Operand& o = operandOf(t);
    return known.of(t, o.functional, o.value);
  };
  Stack stack;
  for (size_t i = 0; i < n_; ++i) stack.push_back(mapTensors(argument(i), twinOf));
  const Stack twins = stack;
  // A twin in the interior of a graph is a clone, and may lie in memory as the tensor doesn't.
  std::vector<autograd::TensorGeometry> before;
  for (const Written& w : written) before.emplace_back(twins[w.position].toTensor());
  op_.callBoxed(&stack);
  for (size_t i = 0; i < written.size(); ++i) {
    const Tensor& twin = twins[written[i].position].toTensor();
    const bool changed =
        !(twin.sizes() == IntArrayRef(before[i].sizes) && twin.strides() == IntArrayRef(before[i].strides));
    if (changed) written[i].geometry = std::make_unique<const autograd::TensorGeometry>(twin);
  }
  // Results that the schema calls views of what is written may be that itself.
  auto returned = detail::returnedArguments(schema_, twins, stack);
  for (size_t r = 0; r < returned.size(); ++r)
    for (const Written& w : written)
      if (!returned[r] && stack[r].isTensor() && twins[w.position].toTensor().is_same(stack[r].toTensor()))
        returned[r] = w.position;
  return returned;
}

/// A form gives no views of new values.
void Call::checkResultsAreNew(const FunctionalForm* form, const std::vector<std::optional<size_t>>& returned) const {
  for (size_t r = 0; r < returned.size(); ++r) {
    if (returned[r] || (form != nullptr && form->of_return[r] >= 0)) continue;
    std::string names;
    for (const Argument& a : schema_.arguments())
      if (a.is_write() && detail::sharesAliasSet(a, schema_.returns()[r])) names = a.name;
    throw Error(detail::str("operator ", op_.operator_name(), ": its result ", r + 1, " is a view of argument '", names,
                            "', which it writes. That can't be functionalized: return the argument, or view it after "
                            "the call"));
  }
}

/// `results`: of the form.
void Call::returnResults(const FunctionalForm* form, const std::vector<std::optional<size_t>>& returned,
                         Stack results) {
  Stack out;
  for (size_t r = 0; r < returned.size(); ++r) {
    if (returned[r]) {
      out.push_back(argument(*returned[r]));
      continue;
    }
    const auto from = static_cast<size_t>(form->of_return[r]);  // checkResultsAreNew
    size_t element = 0;
    const bool list = results[from].isTensorList();
    out.push_back(mapTensors(results[from], [&](const Tensor& t) { return wrapResult(t, list ? element++ : r); }));
  }
  drop(stack_, n_);
  for (IValue& v : out) stack_.push_back(std::move(v));
}

void Call::runWriting() {
  std::vector<Written> written = writtenOrThrow();
  const FunctionalForm* form = functionalForm(op_);
  // resize_ and resize_as_: all that they do is seen on fake tensors.
  const bool resizes = form == nullptr && schema_.isInplace() &&
                       (schema_.name() == "aten::resize_" || schema_.name() == "aten::resize_as_");
  SHUNT_CHECK(form != nullptr || resizes, "operator ", op_.operator_name(),
              " can't be functionalized: no operator computes what it "
              "writes. Define one with the same name and arguments that returns the result, without '_' and without "
              "out= arguments: m.def(\"",
              schema_.operator_name().baseName(), "...\")");
  if (form != nullptr) checkResultsAreClear(*form);
  checkApart(written);
  if (form != nullptr && schema_.isInplace() && autograd::graph_tensor(written[0].tensor->value()).is_view()) {
    // How a view came about shows on the value only, or on what that wraps.
    const bool recorded =
        std::any_of(operands_.begin(), operands_.end(), [](const Operand& o) { return o.value.requires_grad(); });
    autograd::check_inplace(autograd::graph_tensor(written[0].tensor->value()), recorded);
  }
  const std::vector<std::optional<size_t>> returned = rehearse(written);
  checkResultsAreNew(form, returned);
  Stack results;
  if (resizes)
    resize(*written[0].tensor, written[0].geometry);
  else if (form->is_view && schema_.isInplace())
    changeGeometry(*written[0].tensor, *form);
  else
    results = compute(*form, written);
  returnResults(form, returned, std::move(results));
}

void Call::resize(FunctionalTensor& self, const NewGeometry& to) {
  if (to == nullptr) return;
  const int64_t bytes = detail::storageBytes("resize_", to->sizes, to->strides, self.itemsize());
  self.resize(to->sizes, to->strides, self.storage_offset(),
              bytes == 0 ? 0 : bytes + self.storage_offset() * self.itemsize());
}

void Call::changeGeometry(FunctionalTensor& self, const FunctionalForm& form) {
  Stack args;
  for (const int from : form.from) args.push_back(argument(static_cast<size_t>(from)));
  args[0] = IValue();
  const bool detaches = form.op.operator_name().name == "aten::detach";
  self.append({form.op, std::move(args), 0, 0, true, false, !detaches});
}

// Plain kernels write to such memory element by element, and some elements perhaps not at all (masked_fill_). A result
// in a tensor of its own doesn't tell which of several values would stay. Only what lies in the CPU's memory is looked
// at.
void checkOneValueForEachPlace(const OperatorHandle& op, const Tensor& result, IntArrayRef sizes, IntArrayRef strides) {
  if (levels::isWrapper(result)) {
    // Of a batch, the sizes and strides with the batch's.
    const levels::WrapperStorage& storage = levels::storageOf(result);
    std::vector<int64_t> all_sizes = sizes.vec(), all_strides = strides.vec();
    if (storage.batch_dim >= 0) {
      all_sizes.insert(all_sizes.begin() + storage.batch_dim, storage.value.size(storage.batch_dim));
      all_strides.insert(all_strides.begin() + storage.batch_dim, 1);
    }
    const levels::Outside outside;
    return checkOneValueForEachPlace(op, storage.value, all_sizes, all_strides);
  }
  const Tensor& plain = isWrapper(result) ? autograd::graph_tensor(result) : result;
  if (is_fake(plain) || isWrapper(plain) || plain.device().type() != DeviceType::CPU) return;
  if (plain.numel() == 0 || !plain.sizes().equals(sizes)) return;
  const NoGradGuard no_grad;
  const ExcludeDispatchKeyGuard no_modes({DispatchKey::PythonKernel, DispatchKey::Tracer});  // not the program's calls
  Tensor first = plain.detach();
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1 && strides[d] == 0) first = first.narrow(static_cast<int64_t>(d), 0, 1);
  if (internal_overlap(first.sizes(), strides) != MemoryOverlap::kNone) {
    // Windows: written to memory and read back.
    const int64_t places = detail::storageBytes("Functionalize", first.sizes(), strides, 1);
    first = plain.new_zeros({places})
                .as_strided_scatter(first, first.sizes(), strides, 0)
                .as_strided(first.sizes(), strides, 0);
  }
  const Tensor once = first.expand(sizes).contiguous(), whole = plain.detach().contiguous();
  SHUNT_CHECK(std::memcmp(once.data_ptr(), whole.data_ptr(), whole.nbytes()) == 0,
              "Functionalize: ", op.operator_name(), " would write different values to elements of a tensor of sizes ",
              sizes, " and strides ", strides, " that share memory. clone() the tensor first");
}

/// Gives all results of the form.
Stack Call::compute(const FunctionalForm& form, const std::vector<Written>& written) {
  // An argument of functionalize() is written at the end, so the graph has to save another tensor.
  const bool recorded = GradMode::is_enabled() && std::any_of(operands_.begin(), operands_.end(),
                                                              [](const Operand& o) { return o.value.requires_grad(); });
  for (Operand& o : operands_)
    if (recorded && o.functional != nullptr && o.functional->base().isInput() &&
        std::any_of(written.begin(), written.end(),
                    [&](const Written& w) { return &w.tensor->base() == &o.functional->base(); }))
      o.value = o.value.clone();
  Stack stack;
  for (size_t i = 0; i < form.from.size(); ++i) {
    const Argument& a = form.op.schema().arguments()[i];
    // Where none is given, reductions compute in the dtype of out=. Other out= forms call the functional one, and cast.
    const bool of_out = a.name == "dtype" && schema_.isOut() && op_.hasKernelForDispatchKey(DispatchKey::CPU);
    const IValue given = form.from[i] >= 0 ? valueOf(argument(static_cast<size_t>(form.from[i]))) : IValue();
    if (form.from[i] >= 0 && !(of_out && given.isNone()))
      stack.push_back(given);
    else if (a.name == "dtype")
      stack.push_back(written[0].tensor->dtype());
    else if (a.name == "device")
      stack.push_back(written[0].tensor->device());
    else
      stack.push_back(IValue());
  }
  {
    // Autocast casts functional forms only, and this one stands for another.
    const ExcludeDispatchKeyGuard no_autocast(kAutocastKeys);
    callBelow(form.op, stack);
  }
  // All is checked before anything changes.
  std::vector<Tensor> results;
  for (const Written& w : written) {
    const Tensor& now = w.tensor->value();
    const IntArrayRef sizes = w.geometry ? IntArrayRef(w.geometry->sizes) : now.sizes();
    const IntArrayRef strides = w.geometry ? IntArrayRef(w.geometry->strides) : now.strides();
    Tensor result = stack[static_cast<size_t>(form.of_argument[w.position])].toTensor();
    if (result.dtype() != now.dtype()) result = result.to(now.dtype());
    // linspace and arange fill an out= tensor of any shape with enough elements.
    if (!result.sizes().equals(sizes))
      result = result.numel() == std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>())
                   ? result.reshape(sizes)
                   : result.expand(sizes);
    // Two bases never share memory: how else could a result be known for a view of one?
    const auto shares = [&](const Operand& o) { return sharesMemory(result, o.value); };
    const auto sharesResult = [&](const Tensor& other) { return sharesMemory(result, other); };
    if (std::any_of(operands_.begin(), operands_.end(), shares) || std::ranges::any_of(results, sharesResult))
      result = result.clone();
    if (internal_overlap(sizes, strides) != MemoryOverlap::kNone)
      checkOneValueForEachPlace(op_, result, sizes, strides);
    results.push_back(std::move(result));
  }
  for (size_t i = 0; i < written.size(); ++i) {
    resize(*written[i].tensor, written[i].geometry);
    written[i].tensor->write(results[i]);
  }
  return stack;
}

void fallback(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) { Call(op, keys, stack).run(); }

struct Registrar {
  Registrar() : library(Library::Kind::kImpl, "_", DispatchKey::Functionalize) {
    library.fallback(CppFunction::makeFromBoxedFunction<&fallback>());
  }
  Library library;
};
[[maybe_unused]] const Registrar& registrar = immortal<Registrar>();

}  // namespace
}  // namespace shunt::functional
