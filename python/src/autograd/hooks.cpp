#include "python/src/autograd/hooks.h"

#include "python/src/autograd/hook_handle.h"
#include "python/src/autograd/node_object.h"
#include "python/src/autograd/traverse.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/graph_tensor.h>

namespace shunt::python {

using autograd::variable_list;

namespace {

/// "'<lambda>'": the hook in messages.
std::string nameOf(PyObject* hook) {
  const Ref name = Ref::steal(PyObject_GetAttrString(hook, "__name__"));
  if (!name || !PyUnicode_Check(name.get())) {
    PyErr_Clear();
    return "'" + typeNameOf(hook) + "'";
  }
  return "'" + utf8(name.get()) + "'";
}

Ref tupleOf(const variable_list& list) {
  Ref tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), check(wrap(list[i])));
  return tuple;
}

/// What a node's hook returned: in place of `before`, or nothing.
variable_list replaced(PyObject* hook, PyObject* result, const variable_list& before) {
  if (result == Py_None) return before;
  if (!PyTuple_Check(result)) raise(PyExc_TypeError, "expected tuple, but hook returned '" + typeNameOf(result) + "'");
  const auto n = static_cast<size_t>(PyTuple_GET_SIZE(result));
  if (n != before.size())
    raise(PyExc_RuntimeError, "hook " + nameOf(hook) + " has returned an incorrect number of values (got " +
                                  std::to_string(n) + ", but expected " + std::to_string(before.size()) + ")");
  variable_list list(n);
  for (size_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    if (o == Py_None) continue;
    if (!isTensor(o)) raise(PyExc_TypeError, "expected Variable, but hook returned '" + typeNameOf(o) + "'");
    list[i] = tensorOf(o);
  }
  return list;
}

void checkReplacement(PyObject* hook, const Tensor& now, const Tensor& before) {
  if (now.sizes() != before.sizes())
    raise(PyExc_RuntimeError, shunt::detail::str("hook ", nameOf(hook), " has changed the size of value (was ",
                                                 before.sizes(), ", got ", now.sizes(), ")"));
  if (now.scalar_type() != before.scalar_type() || now.device() != before.device())
    raise(PyExc_RuntimeError,
          shunt::detail::str("hook ", nameOf(hook), " has changed the type of value (was ", before.scalar_type(),
                             " on ", before.device(), ", got ", now.scalar_type(), " on ", now.device(), ")"));
}

void checkCallable(PyObject* hook, const char* method) {
  if (!PyCallable_Check(hook))
    raise(PyExc_TypeError, std::string(method) + "(): argument 'hook' must be callable, not " + typeNameOf(hook));
}

/// The hooks' list of the tensor that has the graph: a handle removes from that, whatever becomes of the tensor.
std::weak_ptr<autograd::TensorHooks> hooksOf(const Tensor& t) {
  return autograd::get_autograd_meta(autograd::graph_tensor(t))->hooks_;
}

}  // namespace

Tensor TensorHook::operator()(const Tensor& grad) const {
  const Gil gil;
  const Ref given = owned(wrap(grad));
  const Ref result = owned(PyObject_CallOneArg(function.get(), given.get()));
  if (result.get() == Py_None) return {};
  if (!isTensor(result.get()))
    raise(PyExc_TypeError, "expected Variable, but hook returned '" + typeNameOf(result.get()) + "'");
  Tensor replacement = tensorOf(result.get());
  checkReplacement(function.get(), replacement, grad);
  return replacement;
}

void AccumulateHook::operator()(const Tensor& leaf) const {
  const Gil gil;
  const Ref given = owned(wrap(leaf));
  const Ref result = owned(PyObject_CallOneArg(function.get(), given.get()));
  if (result.get() != Py_None)
    raise(PyExc_TypeError, "register_post_accumulate_grad_hook(): the hook should return None, but it returned '" +
                               typeNameOf(result.get()) + "'");
}

variable_list NodePreHook::operator()(const variable_list& grads) const {
  const Gil gil;
  const Ref given = tupleOf(grads);
  const Ref result = owned(PyObject_CallOneArg(function.get(), given.get()));
  return replaced(function.get(), result.get(), grads);
}

variable_list NodePostHook::operator()(const variable_list& outputs, const variable_list& inputs) const {
  const Gil gil;
  variable_list shown = outputs;
  shown.resize(outputs.size() + hidden_inputs);
  const Ref grad_inputs = tupleOf(shown), grad_outputs = tupleOf(inputs);
  const Ref result =
      owned(PyObject_CallFunctionObjArgs(function.get(), grad_inputs.get(), grad_outputs.get(), nullptr));
  variable_list grads = replaced(function.get(), result.get(), shown);
  grads.resize(outputs.size());
  return grads;
}

PyObject* registerTensorHook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (!t.requires_grad())
      raise(PyExc_RuntimeError, "cannot register a hook on a tensor that doesn't require gradient");
    checkCallable(hook, "register_hook");
    const unsigned id = t.register_hook(std::function<Tensor(const Tensor&)>(TensorHook{share(hook)}));
    trackTensor(self);
    return makeHandle(id, [list = hooksOf(t), id] {
      if (const auto hooks = list.lock()) hooks->hooks.remove(id);
    });
  });
}

PyObject* registerAccumulateHook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    checkCallable(hook, "register_post_accumulate_grad_hook");
    const unsigned id = t.register_post_accumulate_grad_hook(AccumulateHook{share(hook)});
    trackTensor(self);
    return makeHandle(id, [list = hooksOf(t), id] {
      if (const auto hooks = list.lock()) hooks->post_accumulate.remove(id);
    });
  });
}

namespace {

PyObject* registerOnNode(PyObject* self, PyObject* hook, bool before) {
  return guarded([&] {
    const intrusive_ptr<Node> node = nodeOf(self);
    checkCallable(hook, before ? "register_prehook" : "register_hook");
    const unsigned id = before ? node->add_pre_hook(NodePreHook{share(hook)})
                               : node->add_post_hook(NodePostHook{share(hook), hiddenInputs(*node)});
    return makeHandle(id, [of = weak_intrusive_ptr<Node>(node), id, before] {
      const intrusive_ptr<Node> still = of.lock();
      if (!still || still->hooks() == nullptr) return;
      before ? still->remove_pre_hook(id) : still->remove_post_hook(id);
    });
  });
}

}  // namespace

PyObject* registerNodeHook(PyObject* self, PyObject* hook) { return registerOnNode(self, hook, false); }
PyObject* registerNodePreHook(PyObject* self, PyObject* hook) { return registerOnNode(self, hook, true); }

}  // namespace shunt::python
