// A schema as tuples, which shunt._schema makes its classes of.
#include "python/src/dispatch/schema.h"

#include "python/src/base/errors.h"
#include "python/src/dispatch/ivalue.h"

namespace shunt::python {

namespace {

PyObject* text(std::string_view s) { return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())); }

/// (kind, optional, list, element_optional, fixed size or None, text)
PyObject* typeParts(const Type& type) {
  const std::string kind(toString(type.kind)), spelled = type.str();
  Ref size = type.fixed_size ? owned(PyLong_FromLongLong(*type.fixed_size)) : Ref::borrow(Py_None);
  return Py_BuildValue("(sOOOOs)", kind.c_str(), type.optional ? Py_True : Py_False, type.list ? Py_True : Py_False,
                       type.element_optional ? Py_True : Py_False, size.get(), spelled.c_str());
}

PyObject* setOf(const std::vector<std::string>& names) {
  Ref out = owned(PySet_New(nullptr));
  for (const std::string& name : names) {
    const Ref item = owned(text(name));
    checkStatus(PySet_Add(out.get(), item.get()));
  }
  return out.release();
}

/// (before, after, is_write), or None
PyObject* aliasParts(const Argument& a) {
  const auto& alias = a.alias ? a.alias : a.container_alias;
  if (!alias) Py_RETURN_NONE;
  return Py_BuildValue("(NNO)", setOf(alias->before_sets), setOf(alias->after_sets),
                       alias->is_write ? Py_True : Py_False);
}

/// (name, type, whether there is a default, default, keyword-only, alias)
PyObject* argumentParts(const Argument& a) {
  const Ref value = a.default_value ? owned(toObject(defaultOf(a), a.type)) : Ref::borrow(Py_None);
  return Py_BuildValue("(sNOOON)", a.name.c_str(), typeParts(a.type), a.default_value ? Py_True : Py_False, value.get(),
                       a.kwarg_only ? Py_True : Py_False, aliasParts(a));
}

PyObject* argumentList(const std::vector<Argument>& arguments) {
  Ref out = owned(PyList_New(0));
  for (const Argument& a : arguments) {
    const Ref parts = owned(argumentParts(a));
    checkStatus(PyList_Append(out.get(), parts.get()));
  }
  return out.release();
}

/// (name, overload, arguments, returns, is_vararg, is_varret, text)
PyObject* parse(PyObject*, PyObject* given) {
  return guarded([&] {
    if (!PyUnicode_Check(given)) raise(PyExc_TypeError, "parse_schema(): expected str, got " + typeNameOf(given));
    const FunctionSchema schema = parseSchema(utf8(given));
    return Py_BuildValue("(ssNNOOs)", schema.name().c_str(), schema.operator_name().overload_name.c_str(),
                         argumentList(schema.arguments()), argumentList(schema.returns()),
                         schema.is_vararg() ? Py_True : Py_False, schema.is_varret() ? Py_True : Py_False,
                         schema.str().c_str());
  });
}

PyMethodDef functions[] = {{"_schema_parts", parse, METH_O, nullptr}, {}};

}  // namespace

void addSchema(PyObject* module) { checkStatus(PyModule_AddFunctions(module, functions)); }

}  // namespace shunt::python
