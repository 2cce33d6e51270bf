// shunt.ops.aten.add.Tensor: an operator of the dispatcher as an object of Python (OpOverload), and all operators of
// one name (OpOverloadPacket).
//
// Each operator has one object, made when it is asked for the first time and kept for ever: operators are never
// destroyed. What a call needs to know of the schema is made at the first call, and again where the operator has been
// defined anew since. Under the interpreter's lock.
#pragma once

#include "python/src/base/python.h"
#include "python/src/call/signature.h"
#include "python/src/dispatch/ivalue.h"

#include <shunt/core/dispatcher.h>
#include <shunt/core/ivalue.h>

namespace shunt::python {

/// What calls need of a schema.
struct PreparedSchema {
  FunctionSchema schema;
  Signature signature;           // with the schema's own names
  std::vector<IValue> defaults;  // None where there is none
  /// For each return the argument that it is where the operator writes that one, else -1.
  std::vector<int> written;
  size_t num_positional = 0;  // arguments that are not keyword-only; they come first
  std::string name;           // aten::add, for messages

  explicit PreparedSchema(const FunctionSchema& schema);
};

struct OpOverloadObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Operator* op;
  const PreparedSchema* prepared;  // kept for ever: a call may be running with it
  uint64_t generation;             // of definitions, when `prepared` was made
  PyObject* dict;
  PyObject* weak_list;

  OperatorHandle handle() const { return OperatorHandle(*op); }
};

void addOperatorTypes(PyObject* module);

/// The operator's object, borrowed.
OpOverloadObject* operatorObject(const Operator& op);
/// The packet of this qualified name (aten::add), borrowed, whether it has operators or not.
PyObject* packetObject(const std::string& qualified);
bool isOperatorObject(PyObject* o);
/// What a call of it needs. Throws where the operator has no definition.
const PreparedSchema& preparedOf(OpOverloadObject& o);
/// After definitions have come or gone: what is known of schemas is made again.
void forgetSchemas();

/// The arguments on top of the stack as a handler in Python gets them: those that may be given by position, without the
/// last ones where they have their defaults, and those by keyword that don't have theirs.
struct PackedArguments {
  Ref positional, keywords;
};
PackedArguments packArguments(const PreparedSchema& schema, const IValue* arguments);

/// The values that an object, which a handler or a kernel returned, stands for, pushed on the stack. `who` begins the
/// message where they don't fit: "Logging.__torch_dispatch__".
void pushReturns(const PreparedSchema& schema, PyObject* returned, Stack& stack, What who);

/// The results of a call, which are all that is on the stack: None, one, or a tuple.
PyObject* resultsOf(const PreparedSchema& schema, const Stack& stack);

}  // namespace shunt::python
