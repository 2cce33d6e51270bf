#include "python/src/call/entry.h"

#include "python/src/base/errors.h"
#include "python/src/base/log.h"
#include "python/src/call/default_device.h"
#include "python/src/call/parse.h"
#include "python/src/compile/compiled.h"
#include "python/src/dispatch/torch_function.h"
#include "python/src/types/constants.h"
#include "python/src/types/tensor.h"

#include <shunt/core/tls.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

namespace shunt::python {

namespace {

/// As PyTorch prints results: each on lines of its own, so that tensors are in columns.
PyObject* reprOfResults(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref fields = owned(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
    const char* const name = std::strrchr(Py_TYPE(self)->tp_name, '.');  // ".max" of "shunt.return_types.max"
    std::string text = std::string(shownPackage()) + ".return_types" + name + "(";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
      const Ref shown = owned(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
      text += (i == 0 ? "\n" : ",\n") + utf8(PyTuple_GET_ITEM(fields.get(), i)) + "=" + utf8(shown.get());
    }
    text += ")";
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}
PyMethodDef repr_of_results = {"__repr__", reprOfResults, METH_NOARGS, nullptr};

/// A class of tuples with the names of the results: shunt.return_types.max. One for all overloads with these results.
PyTypeObject* resultType(const char* name, const FunctionSchema& schema) {
  const auto& returns = schema.returns();
  if (returns.size() < 2 || returns[0].name.empty() || schema.operator_name().baseName().starts_with('_'))
    return nullptr;
  static auto& made = *new std::unordered_map<std::string, PyTypeObject*>();
  std::string id = name;
  for (const Argument& r : returns) id += ' ' + std::string(r.name);
  if (const auto found = made.find(id); found != made.end()) return found->second;
  // Python keeps pointers to the texts.
  static std::deque<std::string> texts;
  std::vector<PyStructSequence_Field> fields;
  for (const Argument& r : returns) {
    if (r.name.empty()) return nullptr;
    fields.push_back({texts.emplace_back(r.name).c_str(), nullptr});
  }
  fields.push_back({nullptr, nullptr});
  PyStructSequence_Desc description{texts.emplace_back(std::string("shunt.return_types.") + name).c_str(), nullptr,
                                    fields.data(), static_cast<int>(returns.size())};
  PyObject* const type = check(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&description)));
  const Ref shown = owned(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type), &repr_of_results));
  checkStatus(PyObject_SetAttrString(type, "__repr__", shown.get()));
  return made[id] = reinterpret_cast<PyTypeObject*>(type);
}

Overload makeOverload(const OverloadSource& source, const char* name, bool is_method) {
  const FunctionSchema& schema = OperatorHandle(*source.op).schema();
  Overload o{&source, Signature(schema, name, is_method, source.optional_arguments)};
  o.result_type = resultType(name, schema);
  return o;
}

std::deque<Entry>& entries() {
  static std::deque<Entry>& all = *[] {
    auto* list = new std::deque<Entry>();
    for (size_t i = 0; i < num_entries; ++i) list->emplace_back(entry_sources[i]);
    return list;
  }();
  return all;
}

/// Of tensors whose class handles calls.
constexpr DispatchKeySet kSeenByClasses =
    DispatchKeySet::of(Functionality::Python) | DispatchKeySet::of(Functionality::PythonKernel);

/// Whether somebody looks at the call: a mode or a wrapper. Who looks sees PyTorch's operator, which for
/// `x + 1` is add.Tensor with the number as a tensor; for all others the form with the number does the same for less.
bool isLookedAt(const Overload& o, PyObject* const* slots) {
  if (isRecording()) return false;  // a graph has one node for each result, whatever eager code calls them
  if (detail::underMode()) return true;
  for (size_t i = 0; i < o.signature.parameters.size(); ++i) {
    if (slots[i] == nullptr || o.signature.parameters[i].kind != Kind::kTensor || !isTensor(slots[i])) continue;
    const Tensor& t = tensorOf(slots[i]);
    if (t.key_set().hasAny(kSeenByClasses)) return true;
  }
  return false;
}

PyObject* invokeTensorForm(const Overload& o, PyObject* const* slots) {
  PyObject* moved[kMaxParameters];
  const size_t n = o.tensor_form->signature.parameters.size();
  for (size_t i = 0; i < n; ++i) moved[i] = slots[o.source->tensor_arguments[i]];
  return o.tensor_form->source->invoke(*o.tensor_form, moved);
}

PyObject* invoke(const Overload& o, Slots& slots) {
  // device=None names none either: what passes on a parameter of its own leaves the choice to the caller.
  if (const int place = o.signature.device_place;
      place >= 0 && (slots.at[place] == nullptr || slots.at[place] == Py_None) && defaultDevice() != nullptr)
    slots.at[place] = defaultDevice();
  PyObject* result = o.tensor_form != nullptr && isLookedAt(o, slots.at) ? invokeTensorForm(o, slots.at)
                                                                         : o.source->invoke(o, slots.at);
  if (slots.requires_grad == Py_True && result != nullptr && isTensor(result)) tensorOf(result).set_requires_grad(true);
  return result;
}

}  // namespace

Entry& entryAt(size_t place) { return entries()[place]; }

Entry* findEntry(std::string_view name) {
  static const auto& places = *[] {
    auto* map = new std::unordered_map<std::string_view, size_t>();
    for (size_t i = 0; i < num_entries; ++i) map->emplace(entry_sources[i].name, i);
    return map;
  }();
  const auto found = places.find(name);
  return found == places.end() ? nullptr : &entryAt(found->second);
}

PyTypeObject* resultTypeOf(std::string_view name) {
  Entry* const entry = findEntry(name);
  if (entry == nullptr) return nullptr;
  entry->prepare();
  for (const auto* overloads : {&entry->functions(), &entry->methods()})
    for (const Overload& o : *overloads)
      if (o.result_type != nullptr) return o.result_type;
  return nullptr;
}

const Overload& overloadOf(int source_index) {
  static std::unordered_map<int, Overload>& made = *new std::unordered_map<int, Overload>();
  auto found = made.find(source_index);
  if (found == made.end()) {
    const OverloadSource& source = overload_sources[source_index];
    found = made.emplace(source_index, makeOverload(source, source.op->name().data(), false)).first;
  }
  return found->second;
}

void Entry::makeOverloads() {
  for (size_t i = 0; i < source_->count; ++i) {
    const OverloadSource& s = overload_sources[source_->first + i];
    const Overload* form = s.tensor_form >= 0 ? &overloadOf(s.tensor_form) : nullptr;
    for (const bool is_method : {false, true}) {
      if ((s.called_as & (is_method ? kMethod : kFunction)) == 0) continue;
      auto& list = is_method ? methods_ : functions_;
      list.push_back(makeOverload(s, name(), is_method));
      list.back().tensor_form = form;
    }
  }
  prepared_ = true;
}

PyObject* more_forms = nullptr;

namespace {

/// The call by the Python function that has the name's other forms; null where there is none, or where it doesn't take
/// the arguments (it returns NotImplemented).
PyObject* callMoreForms(const Entry& entry, const Call& call) {
  PyObject* const function = more_forms != nullptr ? PyDict_GetItemString(more_forms, entry.name()) : nullptr;
  if (function == nullptr) return nullptr;
  const Py_ssize_t first = call.self != nullptr ? 1 : 0;
  const Ref positional = owned(PyTuple_New(call.num_args + first)), keywords = owned(PyDict_New());
  if (first != 0) PyTuple_SET_ITEM(positional.get(), 0, Py_NewRef(call.self));
  for (Py_ssize_t i = 0; i < call.num_args; ++i) PyTuple_SET_ITEM(positional.get(), i + first, Py_NewRef(call.args[i]));
  const Py_ssize_t num_keywords = call.keyword_names != nullptr ? PyTuple_GET_SIZE(call.keyword_names) : 0;
  for (Py_ssize_t k = 0; k < num_keywords; ++k)
    checkStatus(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(call.keyword_names, k), call.args[call.num_args + k]));
  PyObject* result = check(PyObject_CallFunctionObjArgs(function, positional.get(), keywords.get(), nullptr));
  if (result != Py_NotImplemented) return result;
  Py_DECREF(result);
  return nullptr;
}

}  // namespace

namespace {

/// Of each output that is given: its number of dimensions, and its sizes.
using Sizes = InlineVector<int64_t, 16>;

Sizes sizesOfOutputs(const Signature& s, const Slots& slots) {
  Sizes all;
  for (size_t i = s.first_output; i < s.parameters.size(); ++i) {
    PyObject* const o = s.parameters[i].is_out ? slots.at[i] : nullptr;
    if (o == nullptr || !isTensor(o)) continue;
    const IntArrayRef sizes = tensorOf(o).sizes();
    all.push_back(static_cast<int64_t>(sizes.size()));
    for (const int64_t n : sizes) all.push_back(n);
  }
  return all;
}

/// Warns of the first output that had elements and has another shape now.
SHUNT_COLD void warnOfResizing(IntArrayRef before, IntArrayRef after) {
  const auto takeFirst = [](IntArrayRef& all) {
    const IntArrayRef sizes = all.slice(1, static_cast<size_t>(all[0]));
    all = all.slice(1 + sizes.size());
    return sizes;
  };
  while (!before.empty()) {
    const IntArrayRef old = takeFirst(before), now = takeFirst(after);
    if (old.equals(now) || std::find(old.begin(), old.end(), 0) != old.end()) continue;
    return warnCaller(
        PyExc_UserWarning,
        fmt::format("An output with one or more elements was resized: out= had shape [{}] and has [{}] "
                    "now. A future version won't resize it. Call out.resize_(0) before to have it resized.",
                    fmt::join(old, ", "), fmt::join(now, ", ")));
  }
}

/// A call of a form with out=, which warns where that is resized.
PyObject* invokeWithOutputs(const Overload& o, Slots& slots) {
  const Sizes before = sizesOfOutputs(o.signature, slots);
  Ref result = owned(invoke(o, slots));
  const Sizes after = sizesOfOutputs(o.signature, slots);
  if (!std::equal(before.begin(), before.end(), after.begin(), after.end()))
    warnOfResizing({before.data(), before.size()}, {after.data(), after.size()});
  return result.release();
}

}  // namespace

PyObject* callEntry(Entry& entry, const Call& call) noexcept {
  return guarded([&] {
    entry.prepare();
    const auto& overloads = call.self != nullptr ? entry.methods() : entry.functions();
    Slots slots;
    for (const Overload& o : overloads) {
      const Match match = matchCall(o.signature, call, slots);
      if (match == Match::kNo) continue;
      if (match == Match::kOverridden || torch_function_modes > 0) [[unlikely]]
        if (PyObject* result = callTorchFunction(entry, call)) return result;
      if (o.signature.num_outputs > 0) [[unlikely]]
        return invokeWithOutputs(o, slots);
      return invoke(o, slots);
    }
    // An object of another library may have a __torch_function__.
    if (PyObject* result = callTorchFunction(entry, call)) return result;
    if (call.or_not_implemented) Py_RETURN_NOTIMPLEMENTED;
    if (PyObject* result = callMoreForms(entry, call)) return result;
    raiseNoMatch(entry, overloads, call);
  });
}

}  // namespace shunt::python
