#include "tools/opgen/emitters/emit.h"

namespace opgen {

void emitAll(const Dictionary& dictionary, const Derivatives& derivatives, const std::vector<AutocastRule>& rules,
             const BatchRules& batching, const Docs& docs, const Output& out) {
  emitDeclarations(dictionary, out);
  emitOperatorList(dictionary, out);
  emitPublicApi(dictionary, out);
  emitNativeDeclarations(dictionary, out);
  emitOperators(dictionary, out);
  emitFunctors(dictionary, out);
  emitAccumulators(dictionary, out);
  emitNodes(derivatives, out);
  Registrations registrations;
  emitBackend(dictionary, out, registrations);
  emitBackendSelect(dictionary, out, registrations);
  emitInplaceOrView(dictionary, out, registrations);
  emitAutograd(dictionary, out, registrations);
  emitAutocast(rules, out, registrations);
  emitBatching(batching, out);
  emitPython(dictionary, docs, out);
  emitPythonSaved(derivatives, out);
  emitPythonStubs(dictionary, docs, out);
  emitRegistrations(dictionary, out, registrations);
}

}  // namespace opgen
