// Function.apply: forward, and what it records.
#include "python/src/autograd/function_names.h"
#include "python/src/autograd/function_node.h"
#include "python/src/autograd/traverse.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/autograd/variable_utils.h>
#include <shunt/core/tls.h>

namespace shunt::python {

using autograd::variable_list;

FunctionNames& functionNames() {
  static FunctionNames& names = *[] {
    const auto text = [](const char* s) { return check(PyUnicode_InternFromString(s)); };
    return new FunctionNames{text("_backward_cls"), text("_forward_cls"), text("forward"),
                             text("backward"),      text("vjp"),          text("setup_context")};
  }();
  return names;
}

PyObject* setFunctionClass(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *cls = nullptr, *bind = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &cls, &bind)) return nullptr;
    FunctionNames& names = functionNames();
    names.base_backward = check(PyObject_GetAttr(cls, names.backward));
    names.base_vjp = check(PyObject_GetAttr(cls, names.vjp));
    names.base_setup_context = check(PyObject_GetAttr(cls, names.setup_context));
    names.bind = Py_NewRef(bind);
    Py_RETURN_NONE;
  });
}

namespace {

FunctionObject* asObject(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

/// The arguments that forward is called with: keywords, and defaults where setup_context will see them, made
/// positional.
class Arguments {
 public:
  Arguments(PyObject* cls, PyObject* const* args, Py_ssize_t n, PyObject* names, bool with_defaults)
      : args_(args), n_(n) {
    if (names == nullptr && !with_defaults) return;
    const Ref tuple = owned(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
    Ref keywords;
    if (names != nullptr) {
      keywords = owned(PyDict_New());
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
        checkStatus(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i), args[n + i]));
    }
    bound_ = owned(PyObject_CallFunctionObjArgs(functionNames().bind, cls, tuple.get(),
                                                keywords ? keywords.get() : Py_None, nullptr));
    args_ = &PyTuple_GET_ITEM(bound_.get(), 0);
    n_ = PyTuple_GET_SIZE(bound_.get());
  }
  PyObject* operator[](Py_ssize_t i) const { return args_[i]; }
  Py_ssize_t size() const { return n_; }
  /// As a tuple.
  Ref packed() const {
    if (bound_) return bound_;
    Ref tuple = owned(PyTuple_New(n_));
    for (Py_ssize_t i = 0; i < n_; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args_[i]));
    return tuple;
  }

 private:
  PyObject* const* args_;
  Py_ssize_t n_;
  Ref bound_;
};

struct Inputs {
  variable_list tensors;
  std::vector<bool> is_tensor;
  Ref needs_grad;

  explicit Inputs(const Arguments& arguments) {
    const Py_ssize_t n = arguments.size();
    needs_grad = owned(PyTuple_New(n));
    is_tensor.resize(static_cast<size_t>(n));
    tensors.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      const bool tensor = isTensor(arguments[i]);
      is_tensor[static_cast<size_t>(i)] = tensor;
      if (tensor) tensors.push_back(tensorOf(arguments[i]));
      PyTuple_SET_ITEM(needs_grad.get(), i, PyBool_FromLong(tensor && tensors.back().requires_grad()));
    }
  }
};

/// forward(ctx, *arguments), or forward(*arguments) and then setup_context(ctx, arguments, output).
Ref callForward(PyObject* cls, PyObject* context, PyObject* setup, const Arguments& arguments) {
  const Ref forward = owned(PyObject_GetAttr(cls, functionNames().forward));
  const AutoGradMode without_history(false);
  const auto n = static_cast<size_t>(arguments.size());
  InlineVector<PyObject*, 8> stack;
  if (setup == nullptr) stack.push_back(context);
  for (size_t i = 0; i < n; ++i) stack.push_back(arguments[static_cast<Py_ssize_t>(i)]);
  Ref output = owned(PyObject_Vectorcall(forward.get(), stack.data(), stack.size(), nullptr));
  if (setup != nullptr) {
    const Ref packed = arguments.packed();
    PyObject* const given[] = {context, packed.get(), output.get()};
    owned(PyObject_Vectorcall(setup, given, 3, nullptr));
  }
  return output;
}

/// The outputs with their history: tensors replaced where they got another, all else as forward returned it.
Ref recorded(FunctionNode& node, const Inputs& inputs, const Ref& output, bool record) {
  const bool is_tuple = PyTuple_Check(output.get());
  const Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(output.get()) : 1;
  const auto item = [&](Py_ssize_t i) { return is_tuple ? PyTuple_GET_ITEM(output.get(), i) : output.get(); };
  variable_list outputs(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    if (isTensor(item(i))) outputs[static_cast<size_t>(i)] = tensorOf(item(i));
  node.finishWith(inputs.tensors, outputs, record);
  const auto result = [&](Py_ssize_t i) -> PyObject* {
    Tensor& t = outputs[static_cast<size_t>(i)];
    if (!t.defined()) return Py_NewRef(item(i));
    const bool has_history = record && t.requires_grad();
    PyObject* o = check(wrap(std::move(t)));
    if (has_history) trackTensor(o);  // what its context keeps may lead back to it
    return o;
  };
  if (!is_tuple) return Ref::steal(result(0));
  Ref all = owned(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.get(), i, result(i));
  return all;
}

}  // namespace

PyObject* applyFunction(PyObject* cls, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&] {
    const FunctionNames& known = functionNames();
    const Ref context_class = owned(PyObject_GetAttr(cls, known.backward_class));
    const Ref setup = owned(PyObject_GetAttr(cls, known.setup_context));
    const bool has_setup = setup.get() != known.base_setup_context;
    const Arguments arguments(cls, args, n, names, has_setup);
    const Inputs inputs(arguments);
    const bool record = autograd::compute_requires_grad(inputs.tensors);

    auto* const type = reinterpret_cast<PyTypeObject*>(context_class.get());
    const Ref context = owned(type->tp_alloc(type, 0));
    FunctionObject* const o = asObject(context.get());
    const intrusive_ptr<FunctionNode> node = make_intrusive<FunctionNode>(context.get());
    new (&o->node) weak_intrusive_ptr<Node>(node);
    o->materialize_grads = true;
    o->needs_input_grad = Py_NewRef(inputs.needs_grad.get());

    node->prepareFor(inputs.tensors, inputs.is_tensor, record);
    const Ref output = callForward(cls, context.get(), has_setup ? setup.get() : nullptr, arguments);
    return recorded(*node, inputs, output, record).release();
  });
}

}  // namespace shunt::python
