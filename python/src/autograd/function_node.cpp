#include "python/src/autograd/function_node.h"

#include "python/src/autograd/function_names.h"
#include "python/src/base/errors.h"
#include "python/src/types/tensor.h"

#include <shunt/core/inline_vector.h>

#include <utility>

namespace shunt::python {

using autograd::variable_list;

namespace {

FunctionObject* asObject(PyObject* o) { return reinterpret_cast<FunctionObject*>(o); }

/// The function of a program's that backward is: backward, or vjp, which is another name for it.
Ref backwardOf(PyObject* context) {
  const FunctionNames& names = functionNames();
  const Ref function = owned(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(context)), names.forward_class));
  Ref backward = owned(PyObject_GetAttr(function.get(), names.backward));
  const Ref vjp = owned(PyObject_GetAttr(function.get(), names.vjp));
  const bool has_backward = backward.get() != names.base_backward, has_vjp = vjp.get() != names.base_vjp;
  if (has_backward && has_vjp)
    raise(PyExc_RuntimeError,
          typeNameOf(context) + ": implements both 'backward' and 'vjp', which are one thing; keep one");
  return has_vjp ? vjp : backward;
}

variable_list tensorsIn(PyObject* tuple, const char* who) {
  variable_list list;
  if (tuple == nullptr || tuple == Py_None) return list;
  if (!PyTuple_Check(tuple))
    raise(PyExc_TypeError, std::string(who) + ": expected a tuple of Tensors, got " + typeNameOf(tuple));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* o = PyTuple_GET_ITEM(tuple, i);
    if (o != Py_None && !isTensor(o))
      raise(std::string_view(who) == "save_for_backward" ? PyExc_TypeError : PyExc_RuntimeError,
            std::string(who) + " can only accept variables (Tensor), but argument " + std::to_string(i) +
                " is of type " + typeNameOf(o));
    list.push_back(o == Py_None ? Tensor() : tensorOf(o));
  }
  return list;
}

/// The text of the error that is set, which stays set.
std::string textOfError() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const Ref text = Ref::steal(value != nullptr ? PyObject_Str(value) : nullptr);
  const char* const utf8_text = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string out = utf8_text != nullptr ? utf8_text : "";
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return out;
}

/// What a program's backward raises. C++ asks for the text: compile() has to know an error of a graph that was freed.
class BackwardError final : public PythonError {
 public:
  explicit BackwardError(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace

std::string FunctionNode::name() const {
  const Gil gil;
  return context_object_ == nullptr ? "Function" : typeNameOf(context_object_);
}

void FunctionNode::dropContext() noexcept {
  if (context_object_ == nullptr || !isInterpreterAlive()) return;
  const Gil gil;
  drop(std::exchange(context_object_, nullptr));
}

void FunctionNode::release_resources() {
  CustomNode::release_resources();
  dropContext();
}

void FunctionNode::prepareFor(const variable_list& inputs, std::vector<bool> is_tensor, bool record) {
  prepare(inputs, std::move(is_tensor), record);
}

void FunctionNode::finishWith(const variable_list& inputs, variable_list& outputs, bool record) {
  FunctionObject* o = asObject(context_object_);
  if (o->dirty_tensors != nullptr) context_.mark_dirty(tensorsIn(o->dirty_tensors, "mark_dirty"));
  if (o->non_differentiable != nullptr)
    context_.mark_non_differentiable(tensorsIn(o->non_differentiable, "mark_non_differentiable"));
  variable_list saved = tensorsIn(o->to_save, "save_for_backward");
  context_.save_for_backward(std::move(saved));
  // The results that are among them own the graph, which a context that somebody keeps must not.
  Py_CLEAR(o->dirty_tensors);
  Py_CLEAR(o->non_differentiable);
  Py_CLEAR(o->to_save);
  finish(inputs, outputs, record);
}

variable_list FunctionNode::apply(variable_list&& grads) {
  const Gil gil;
  InlineVector<PyObject*, 6> arguments;
  std::vector<Ref> held;
  held.reserve(grads.size());
  arguments.push_back(context_object_);
  const bool materialize = asObject(context_object_)->materialize_grads;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].defined() && materialize && !input_metadata(i).is_undefined()) grads[i] = input_metadata(i).zeros();
    held.push_back(owned(wrap(std::move(grads[i]))));
    arguments.push_back(held.back().get());
  }
  // The context must not go while its function runs, whatever that does.
  const Ref context = Ref::borrow(context_object_);
  const Ref function = backwardOf(context.get());
  const Ref results = Ref::steal(PyObject_Vectorcall(function.get(), arguments.data(), arguments.size(), nullptr));
  if (!results) throw BackwardError(textOfError());
  return gradientsOf(results.get());
}

variable_list FunctionNode::gradientsOf(PyObject* results) const {
  const bool is_tuple = PyTuple_Check(results);
  const size_t given = is_tuple ? static_cast<size_t>(PyTuple_GET_SIZE(results)) : 1,
               wanted = is_tensor_argument_.size();
  const auto result = [&](size_t i) {
    return is_tuple ? PyTuple_GET_ITEM(results, static_cast<Py_ssize_t>(i)) : results;
  };
  // More than there are arguments is right where the rest is None: backward needn't know which defaults were left out.
  size_t num = given;
  while (num > wanted && result(num - 1) == Py_None) --num;
  if (num != wanted)
    raise(PyExc_RuntimeError, "function " + name() + " returned an incorrect number of gradients (expected " +
                                  std::to_string(wanted) + ", got " + std::to_string(given) + ")");
  variable_list list;
  list.reserve(num_outputs());
  for (size_t i = 0; i < wanted; ++i) {
    PyObject* o = result(i);
    if (!is_tensor_argument_[i]) {
      if (o != Py_None)
        raise(PyExc_RuntimeError, "function " + name() + " returned a gradient different than None at position " +
                                      std::to_string(i + 1) +
                                      ", but the corresponding forward input was not a Variable");
      continue;
    }
    if (o != Py_None && !isTensor(o))
      raise(PyExc_RuntimeError, "function " + name() + ": expected Variable or None (got " + typeNameOf(o) + ")");
    list.push_back(o == Py_None ? Tensor() : tensorOf(o));
  }
  return list;
}

intrusive_ptr<Node> functionNodeOf(PyObject* object) {
  intrusive_ptr<Node> node = asObject(object)->node.lock();
  if (!node)
    raise(PyExc_RuntimeError, typeNameOf(object) +
                                  ": this context's graph no longer exists, and what belongs to it "
                                  "(saved tensors, next_functions, hooks) with it");
  return node;
}

}  // namespace shunt::python
