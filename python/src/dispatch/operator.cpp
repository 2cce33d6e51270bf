#include "python/src/dispatch/operator.h"

#include "python/src/base/errors.h"
#include "python/src/call/invoke.h"
#include "python/src/call/parse.h"
#include "python/src/dispatch/ivalue.h"
#include "python/src/dispatch/operator_call.h"
#include "python/src/dispatch/torch_function.h"

#include <shunt/core/near_names.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <structmember.h>
#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace shunt::python {

namespace {

extern PyTypeObject OpOverloadType;
extern PyTypeObject PacketType;

// Definitions that have come or gone since the program began, as far as Python knows.
uint64_t schema_generation = 1;

PyObject* interned(std::string_view text) {
  const std::string copy(text);
  return check(PyUnicode_InternFromString(copy.c_str()));
}

/// Operators for which PyTorch takes a number in the place of a tensor.
bool takesNumbers(std::string_view base) {
  constexpr std::string_view kNames[] = {"add",
                                         "add_",
                                         "add_out",
                                         "div",
                                         "div_",
                                         "div_out",
                                         "divide",
                                         "divide_",
                                         "divide_out",
                                         "multiply",
                                         "multiply_",
                                         "multiply_out",
                                         "mul",
                                         "mul_",
                                         "mul_out",
                                         "floor_divide",
                                         "floor_divide_",
                                         "floor_divide_out",
                                         "remainder",
                                         "remainder_",
                                         "remainder_out",
                                         "rsub",
                                         "sub",
                                         "sub_",
                                         "sub_out",
                                         "subtract",
                                         "subtract_",
                                         "subtract_out",
                                         "true_divide",
                                         "true_divide_",
                                         "true_divide_out",
                                         "bitwise_and",
                                         "bitwise_or",
                                         "bitwise_xor",
                                         "copy_",
                                         "copysign",
                                         "maximum",
                                         "minimum"};
  return std::find(std::begin(kNames), std::end(kNames), base) != std::end(kNames);
}

}  // namespace

PreparedSchema::PreparedSchema(const FunctionSchema& s)
    : schema(s), signature(s, schema.name().c_str(), false), name(s.name()) {
  const bool numbers = takesNumbers(s.operator_name().baseName());
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = arguments[i];
    Parameter& p = signature.parameters[i];
    // Operators are called by the names of their schemas, and each output is given by its own.
    p.name = interned(a.name);
    p.takes_number = numbers && p.kind == Kind::kTensor;
    num_positional += a.kwarg_only ? 0 : 1;
    defaults.push_back(a.default_value ? defaultOf(a) : IValue());
  }
  for (const Argument& r : schema.returns()) {
    int place = -1;
    if (r.is_write() && r.alias)
      for (size_t i = 0; i < arguments.size() && place < 0; ++i)
        if (arguments[i].is_write() && arguments[i].alias && arguments[i].alias->before_sets == r.alias->before_sets)
          place = static_cast<int>(i);
    written.push_back(place);
  }
  signature.num_outputs = std::min<size_t>(signature.num_outputs, 1);
  signature.takes_requires_grad = signature.varargs_ints = false;
}

void forgetSchemas() { ++schema_generation; }

namespace {

std::unordered_map<const Operator*, OpOverloadObject*>& objects() {
  static auto& map = *new std::unordered_map<const Operator*, OpOverloadObject*>();
  return map;
}

std::unordered_map<std::string, PyObject*>& packets() {
  static auto& map = *new std::unordered_map<std::string, PyObject*>();
  return map;
}

OpOverloadObject* asOverload(PyObject* o) { return reinterpret_cast<OpOverloadObject*>(o); }

/// "aten.add" of "aten::add".
std::string dotted(std::string_view qualified) {
  std::string text(qualified);
  if (const size_t colons = text.find("::"); colons != std::string::npos) text.replace(colons, 2, ".");
  return text;
}
std::string_view overloadNameOf(const Operator& op) { return op.overload().empty() ? "default" : op.overload(); }
std::string_view baseOf(std::string_view qualified) {
  const size_t colons = qualified.find("::");
  return colons == std::string_view::npos ? qualified : qualified.substr(colons + 2);
}
std::string_view namespaceOf(std::string_view qualified) {
  const size_t colons = qualified.find("::");
  return colons == std::string_view::npos ? std::string_view() : qualified.substr(0, colons);
}
PyObject* text(std::string_view s) { return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())); }

// ---- OpOverload -------------------------------------------------------------------------------------------------

PyObject* callOverload(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&] {
    const Call call{nullptr, args, PyVectorcall_NARGS(flags), names};
    return callOperator(*asOverload(self), call);
  });
}

PyObject* overloadRepr(PyObject* self) {
  const Operator& op = *asOverload(self)->op;
  return PyUnicode_FromString(
      fmt::format("<OpOverload(op='{}', overload='{}')>", dotted(op.name()), overloadNameOf(op)).c_str());
}
PyObject* overloadStr(PyObject* self) {
  const Operator& op = *asOverload(self)->op;
  return PyUnicode_FromString(fmt::format("{}.{}", dotted(op.name()), overloadNameOf(op)).c_str());
}
Py_hash_t hashOfAddress(PyObject* self) { return _Py_HashPointer(self); }

PyObject* qualifiedName(PyObject* self, PyObject*) {
  return guarded([&] { return text(asOverload(self)->handle().operator_name().str()); });
}
PyObject* hasKernel(PyObject* self, PyObject* key) {
  return guarded([&] { return PyBool_FromLong(asOverload(self)->handle().hasKernelForDispatchKey(keyFrom(key))); });
}
PyObject* redispatch(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (n < 1) raise(PyExc_TypeError, "redispatch(): missing the DispatchKeySet, which comes first");
    const DispatchKeySet keys = keySetFrom(args[0]);
    const Call call{nullptr, args + 1, n - 1, names};
    return callOperator(*asOverload(self), call, &keys);
  });
}

PyObject* getBaseName(PyObject* self, void*) { return text(baseOf(asOverload(self)->op->name())); }
PyObject* getDunderName(PyObject* self, void*) {
  const Operator& op = *asOverload(self)->op;
  return PyUnicode_FromString(fmt::format("{}.{}", baseOf(op.name()), overloadNameOf(op)).c_str());
}
PyObject* getOverloadName(PyObject* self, void*) { return text(overloadNameOf(*asOverload(self)->op)); }
PyObject* getNamespace(PyObject* self, void*) { return text(namespaceOf(asOverload(self)->op->name())); }
PyObject* getModule(PyObject* self, void*) {
  return PyUnicode_FromString(fmt::format("shunt.ops.{}", namespaceOf(asOverload(self)->op->name())).c_str());
}
PyObject* getSchema(PyObject* self, void*) {
  return guarded([&] {
    // Rare, and a matter of many small classes: in Python.
    const Ref module = owned(PyImport_ImportModule("shunt._schema"));
    const std::string s = preparedOf(*asOverload(self)).schema.str();
    return PyObject_CallMethod(module.get(), "parse_schema", "s", s.c_str());
  });
}
PyObject* getPacket(PyObject* self, void*) {
  return guarded([&] { return Py_NewRef(packetObject(std::string(asOverload(self)->op->name()))); });
}
PyObject* getIsView(PyObject* self, void*) {
  return guarded([&] {
    const auto& returns = preparedOf(*asOverload(self)).schema.returns();
    return PyBool_FromLong(!returns.empty() && returns[0].hasAlias() && !returns[0].is_write());
  });
}
PyObject* getTags(PyObject* self, void*) {
  return guarded([&] {
    const Ref module = owned(PyImport_ImportModule("shunt._tags"));
    return PyObject_CallMethod(module.get(), "tags_of", "O", self);
  });
}
PyObject* reduceOverload(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref c = owned(PyImport_ImportModule("shunt._C"));
    const Ref getter = owned(PyObject_GetAttrString(c.get(), "_get_operator"));
    const Operator& op = *asOverload(self)->op;
    return Py_BuildValue("(O(ss))", getter.get(), op.name().data(), op.overload().data());
  });
}

/// What the operator does as operators that it is made of, or NotImplemented. At the level of modes a call of a
/// composite is that.
PyObject* decompose(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    OpOverloadObject& o = *asOverload(self);
    if (!o.handle().hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) Py_RETURN_NOTIMPLEMENTED;
    return callOperator(o, Call{nullptr, args, n, names});
  });
}

PyMethodDef overload_methods[] = {
    {"decompose", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(decompose)), METH_FASTCALL | METH_KEYWORDS,
     "decompose(*args, **kwargs)\n\nCalls a composite operator, which runs those that it is made of; NotImplemented "
     "for "
     "operators with kernels of their own."},
    {"name", qualifiedName, METH_NOARGS,
     "name() -> str\n\n'aten::add.Tensor'; without a dot for the default overload."},
    {"has_kernel_for_dispatch_key", hasKernel, METH_O,
     "has_kernel_for_dispatch_key(key) -> bool\n\nWhether a kernel is registered for exactly this key, a DispatchKey "
     "or "
     "its name."},
    {"redispatch", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(redispatch)), METH_FASTCALL | METH_KEYWORDS,
     "redispatch(keyset, *args, **kwargs)\n\nCalls the kernel that these keys lead to; the thread's keys are not "
     "looked "
     "at."},
    {"__reduce__", reduceOverload, METH_NOARGS, nullptr},
    {},
};
PyGetSetDef overload_properties[] = {
    {"__name__", getDunderName, nullptr, nullptr, nullptr},
    {"__qualname__", getDunderName, nullptr, nullptr, nullptr},
    {"__module__", getModule, nullptr, nullptr, nullptr},
    {"_opname", getBaseName, nullptr, nullptr, nullptr},
    {"_overloadname", getOverloadName, nullptr, nullptr, nullptr},
    {"namespace", getNamespace, nullptr, "'aten' of aten::add.Tensor.", nullptr},
    {"_schema", getSchema, nullptr, "The operator's schema: its name, arguments and returns.", nullptr},
    {"overloadpacket", getPacket, nullptr, "All operators of this name: shunt.ops.aten.add.", nullptr},
    {"_overloadpacket", getPacket, nullptr, "overloadpacket, by PyTorch's name.", nullptr},
    {"is_view", getIsView, nullptr, "Whether its result is a view of an argument.", nullptr},
    {"tags", getTags, nullptr, "What the operator is marked with: a list of shunt.Tag.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

PyTypeObject OpOverloadType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._ops.OpOverload",
    .tp_basicsize = sizeof(OpOverloadObject),
    .tp_vectorcall_offset = offsetof(OpOverloadObject, vectorcall),
    .tp_repr = overloadRepr,
    .tp_hash = hashOfAddress,
    .tp_call = PyVectorcall_Call,
    .tp_str = overloadStr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "An operator of the dispatcher: shunt.ops.aten.add.Tensor. Called with the arguments of its schema.",
    .tp_weaklistoffset = offsetof(OpOverloadObject, weak_list),
    .tp_methods = overload_methods,
    .tp_getset = overload_properties,
    .tp_dictoffset = offsetof(OpOverloadObject, dict),
};

// ---- OpOverloadPacket -------------------------------------------------------------------------------------------

struct PacketObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::string* name;  // aten::add
  uint64_t generation;
  std::vector<OpOverloadObject*>* overloads;
  PyObject* dict;
  PyObject* weak_list;
};
PacketObject* asPacket(PyObject* o) { return reinterpret_cast<PacketObject*>(o); }

const std::vector<OpOverloadObject*>& overloadsOf(PacketObject& packet) {
  if (packet.generation != schema_generation) {
    std::vector<OpOverloadObject*> found;
    const Dispatcher& dispatcher = Dispatcher::singleton();
    for (const OperatorName& name : dispatcher.getAllOpNames())
      if (name.name == *packet.name)
        if (const auto op = dispatcher.findSchema(name)) found.push_back(operatorObject(op->op()));
    // Tensors before numbers, out= last: the order in which a call is compared with them.
    const auto place = [](OpOverloadObject* o) {
      const FunctionSchema& s = o->handle().schema();
      const auto numbers = std::count_if(s.arguments().begin(), s.arguments().end(), [](const Argument& a) {
        return a.type.kind == TypeKind::Scalar && !a.type.list;
      });
      return std::tuple(s.isOut(), numbers, o->op->overload());
    };
    std::sort(found.begin(), found.end(), [&](auto* a, auto* b) { return place(a) < place(b); });
    *packet.overloads = std::move(found);
    packet.generation = schema_generation;
  }
  return *packet.overloads;
}

PyObject* callPacket(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const auto overloads = overloadsOf(*asPacket(self));
    const Call call{nullptr, args, PyVectorcall_NARGS(flags), names};
    if (overloads.size() == 1) return callOperator(*overloads[0], call);
    Slots slots;
    for (OpOverloadObject* o : overloads) {
      if (matchCall(preparedOf(*o).signature, call, slots) != Match::kNo) return callOperator(*o, call);
    }
    // An object with a __torch_function__ may stand for anything.
    if (PyObject* result = callTorchFunctionOf(self, call)) return result;
    std::string message = "Overloaded torch operator invoked from Python failed to match any schema:\n";
    for (OpOverloadObject* o : overloads) message += whyNoMatch(preparedOf(*o), call) + "\n";
    raise(PyExc_RuntimeError, message);
  });
}

PyObject* packetAttribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    const std::string wanted = utf8(name);
    PyErr_Clear();
    for (OpOverloadObject* o : overloadsOf(*asPacket(self)))
      if (overloadNameOf(*o->op) == wanted) {
        PyObject* object = reinterpret_cast<PyObject*>(o);
        checkStatus(PyObject_GenericSetAttr(self, name, object));
        return Py_NewRef(object);
      }
    std::vector<std::string> known;
    for (OpOverloadObject* o : overloadsOf(*asPacket(self))) known.emplace_back(overloadNameOf(*o->op));
    raise(PyExc_AttributeError,
          fmt::format("The underlying op of '{}' has no overload name '{}', only {}{}", dotted(*asPacket(self)->name),
                      wanted, fmt::join(known, ", "), shunt::detail::didYouMean(wanted, known)));
  });
}

PyObject* packetRepr(PyObject* self) {
  return PyUnicode_FromString(fmt::format("<OpOverloadPacket(op='{}')>", dotted(*asPacket(self)->name)).c_str());
}
PyObject* packetStr(PyObject* self) { return text(dotted(*asPacket(self)->name)); }
PyObject* listOverloads(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (OpOverloadObject* o : overloadsOf(*asPacket(self))) {
      const Ref name = owned(text(overloadNameOf(*o->op)));
      checkStatus(PyList_Append(list.get(), name.get()));
    }
    return list.release();
  });
}
PyObject* packetDir(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref base = owned(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__dir__", "O", self));
    const Ref names = owned(listOverloads(self, nullptr));
    return PySequence_InPlaceConcat(base.get(), names.get());
  });
}
PyObject* iteratePacket(PyObject* self) {
  const Ref names = Ref::steal(listOverloads(self, nullptr));
  return names ? PyObject_GetIter(names.get()) : nullptr;
}
PyObject* packetHasKernel(PyObject* self, PyObject* key) {
  return guarded([&] {
    const DispatchKey k = keyFrom(key);
    bool any = false;
    for (OpOverloadObject* o : overloadsOf(*asPacket(self))) any |= o->handle().hasKernelForDispatchKey(k);
    return PyBool_FromLong(any);
  });
}
PyObject* reducePacket(PyObject* self, PyObject*) {
  return guarded([&] {
    const Ref c = owned(PyImport_ImportModule("shunt._C"));
    const Ref getter = owned(PyObject_GetAttrString(c.get(), "_get_packet"));
    return Py_BuildValue("(O(s))", getter.get(), asPacket(self)->name->c_str());
  });
}
PyObject* getPacketName(PyObject* self, void*) { return text(baseOf(*asPacket(self)->name)); }
PyObject* getPacketQualified(PyObject* self, void*) { return text(*asPacket(self)->name); }
PyObject* getPacketModule(PyObject* self, void*) {
  return PyUnicode_FromString(fmt::format("shunt.ops.{}", namespaceOf(*asPacket(self)->name)).c_str());
}

PyMethodDef packet_methods[] = {
    {"overloads", listOverloads, METH_NOARGS, "overloads() -> list of str\n\nThe names of its overloads."},
    {"has_kernel_for_dispatch_key", packetHasKernel, METH_O,
     "has_kernel_for_dispatch_key(key) -> bool\n\nWhether any overload has a kernel for exactly this key."},
    {"__dir__", packetDir, METH_NOARGS, nullptr},
    {"__reduce__", reducePacket, METH_NOARGS, nullptr},
    {},
};
PyGetSetDef packet_properties[] = {
    {"__name__", getPacketName, nullptr, nullptr, nullptr},
    {"__module__", getPacketModule, nullptr, nullptr, nullptr},
    {"_qualified_op_name", getPacketQualified, nullptr, "'aten::add'.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

PyTypeObject PacketType = {
    .ob_base = PyVarObject_HEAD_INIT(nullptr, 0).tp_name = "shunt._ops.OpOverloadPacket",
    .tp_basicsize = sizeof(PacketObject),
    .tp_vectorcall_offset = offsetof(PacketObject, vectorcall),
    .tp_repr = packetRepr,
    .tp_hash = hashOfAddress,
    .tp_call = PyVectorcall_Call,
    .tp_str = packetStr,
    .tp_getattro = packetAttribute,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc =
        "All operators of one name: shunt.ops.aten.add. A call goes to the first overload that takes the arguments.",
    .tp_weaklistoffset = offsetof(PacketObject, weak_list),
    .tp_iter = iteratePacket,
    .tp_methods = packet_methods,
    .tp_getset = packet_properties,
    .tp_dictoffset = offsetof(PacketObject, dict),
};

PyObject* getPacketByName(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const std::string wanted = utf8(name);
    auto* packet = packetObject(wanted);
    if (overloadsOf(*asPacket(packet)).empty()) Py_RETURN_NONE;
    return Py_NewRef(packet);
  });
}
PyObject* getOperatorByName(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char *name = nullptr, *overload = "";
    if (!PyArg_ParseTuple(arguments, "s|s", &name, &overload)) return nullptr;
    const OperatorHandle op = Dispatcher::singleton().findSchemaOrThrow(name, overload);
    return Py_NewRef(reinterpret_cast<PyObject*>(operatorObject(op.op())));
  });
}
PyObject* forgetSchemasFromPython(PyObject*, PyObject*) {
  forgetSchemas();
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"_get_packet", getPacketByName, METH_O, nullptr},
    {"_get_operator", getOperatorByName, METH_VARARGS, nullptr},
    {"_forget_schemas", forgetSchemasFromPython, METH_NOARGS, nullptr},
    {},
};

}  // namespace

bool isOperatorObject(PyObject* o) { return Py_TYPE(o) == &OpOverloadType; }

PyObject* packetObject(const std::string& qualified) {
  PyObject*& found = packets()[qualified];
  if (found == nullptr) {
    found = check(PacketType.tp_alloc(&PacketType, 0));
    PacketObject& p = *asPacket(found);
    p.vectorcall = callPacket;
    p.name = new std::string(qualified);
    p.overloads = new std::vector<OpOverloadObject*>();
  }
  return found;
}

OpOverloadObject* operatorObject(const Operator& op) {
  auto& known = objects();
  const auto found = known.find(&op);
  if (found != known.end()) return found->second;
  auto* o = asOverload(check(OpOverloadType.tp_alloc(&OpOverloadType, 0)));
  o->vectorcall = callOverload;
  o->op = &op;
  known.emplace(&op, o);
  return o;
}

const PreparedSchema& preparedOf(OpOverloadObject& o) {
  if (o.generation != schema_generation) [[unlikely]] {
    o.prepared = new PreparedSchema(o.handle().schema());
    o.generation = schema_generation;
  }
  return *o.prepared;
}

void addOperatorTypes(PyObject* module) {
  for (PyTypeObject* type : {&OpOverloadType, &PacketType}) {
    checkStatus(PyType_Ready(type));
    checkStatus(PyModule_AddType(module, type));
  }
  checkStatus(PyModule_AddFunctions(module, functions));
}

}  // namespace shunt::python
