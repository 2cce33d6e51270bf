// The emitters: each writes one product from the model. They share nothing but the model and the list of registrations.
#pragma once

#include "tools/opgen/emitters/output.h"
#include "tools/opgen/model/autocast.h"
#include "tools/opgen/model/batching.h"
#include "tools/opgen/model/derivatives.h"
#include "tools/opgen/model/docs.h"
#include "tools/opgen/model/operator.h"
#include "tools/opgen/model/python_signature.h"

#include <map>
#include <string>

namespace opgen {

/// include/shunt/generated/operator_decls.h: struct ops::X per operator.
void emitDeclarations(const Dictionary& dictionary, const Output& out);
/// generated/operator_list.inc: the names of those structs, for tests that go through all operators.
void emitOperatorList(const Dictionary& dictionary, const Output& out);
/// include/shunt/generated/tensor_methods.inc and functions.h.
void emitPublicApi(const Dictionary& dictionary, const Output& out);
/// generated/native_functions.h: the handwritten kernels' declarations.
void emitNativeDeclarations(const Dictionary& dictionary, const Output& out);
/// generated/operators_N.cpp: ops::X::call and redispatch; generated/operator_symbols.cpp.
void emitOperators(const Dictionary& dictionary, const Output& out);
/// generated/functors.h, pointwise_loops_N.cpp, pointwise_generic_N.cpp
void emitFunctors(const Dictionary& dictionary, const Output& out);
/// generated/accumulators.h
void emitAccumulators(const Dictionary& dictionary, const Output& out);
/// generated/backend_N.cpp: elementwise kernels, reductions, device checks, copying forms.
void emitBackend(const Dictionary& dictionary, const Output& out, Registrations& registrations);
/// generated/backend_select.cpp
void emitBackendSelect(const Dictionary& dictionary, const Output& out, Registrations& registrations);
/// generated/inplace_or_view_N.cpp
void emitInplaceOrView(const Dictionary& dictionary, const Output& out, Registrations& registrations);
/// generated/nodes.h, nodes_N.cpp
void emitNodes(const Derivatives& derivatives, const Output& out);
/// generated/autograd_N.cpp
void emitAutograd(const Dictionary& dictionary, const Output& out, Registrations& registrations);
/// generated/autocast.cpp
void emitAutocast(const std::vector<AutocastRule>& rules, const Output& out, Registrations& registrations);
/// generated/batch_rules.inc, batch_pointwise.inc
void emitBatching(const BatchRules& rules, const Output& out);
/// generated/registrations.cpp (the one static initialiser), register_N.cpp, wrappers.h
void emitRegistrations(const Dictionary& dictionary, const Output& out, const Registrations& registrations);
/// generated/python/table.cpp, invoke_N.cpp
void emitPython(const Dictionary& dictionary, const Docs& docs, const Output& out);
/// generated/python/saved.cpp
void emitPythonSaved(const Derivatives& derivatives, const Output& out);

/// python/_operators.pyi
void emitPythonStubs(const Dictionary& dictionary, const Docs& docs, const Output& out);

/// Everything above.
void emitAll(const Dictionary& dictionary, const Derivatives& derivatives, const std::vector<AutocastRule>& rules,
             const BatchRules& batching, const Docs& docs, const Output& out);

/// docs/operators.md
std::string operatorTable(const Dictionary& dictionary, const std::vector<AutocastRule>& rules,
                          const BatchRules& batching);

/// `redispatch(ks & <mask>, args...)` of the operator as an expression.
std::string redispatchCall(const OperatorDef& op, const std::string& keyset);
/// Doc strings for Python by name, as C++ literals: these signatures, then the text.
std::map<std::string, std::string> pythonDocLiterals(const Dictionary& dictionary, const Docs& docs,
                                                     const PythonSignatures& all);
/// Explicit instantiation of the table entry's code for a kernel, so that it lies beside the kernel in the bitcode.
std::string instantiateKernel(const Registration& registration);

}  // namespace opgen
