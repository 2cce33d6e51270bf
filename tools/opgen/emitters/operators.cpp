// Emits the operators' typed entry points, call and redispatch, and what stands for them in thunks. Of nearly every
// chain the compiler reads a planned redispatch, so these lie in files of their own, which have little else.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

namespace opgen {

namespace {

/// `role`: Note [Annotated functions] (shunt/core/annotate.h).
std::string entryPoint(const OperatorDef& op, const char* role, const char* name, const char* function, bool keyset) {
  const std::string types = argumentTypes(op);
  const std::string lead = keyset ? "DispatchKeySet ks" : "";
  return fmt::format("SHUNT_ANNOTATE(\"{8}:{9}\")\n{0} {1}::{2}({3}) {{\n  return detail::{4}<{0}{5}{6}>({7});\n}}\n",
                     returnType(op), op.cpp_name, name, parameters(op, lead), function, types.empty() ? "" : ", ",
                     types, argumentNames(op, keyset ? "symbol, ks" : "symbol"), role, op.schema.operator_name().str());
}

}  // namespace

std::string redispatchCall(const OperatorDef& op, const std::string& keyset) {
  return fmt::format("ops::{}::redispatch({})", op.cpp_name, argumentNames(op, keyset));
}

void emitOperators(const Dictionary& dictionary, const Output& out) {
  const char* const head =
      "#include <shunt/core/annotate.h>\n#include <shunt/core/op_state.h>\n\nnamespace shunt::ops {\n\n";
  const char* const tail = "\n}  // namespace shunt::ops\n";
  Shards entries("generated/operators", kOperatorShards, head, tail);
  Shards planned("generated/planned", kPlannedShards, head, tail);
  std::string symbols =
      std::string(kBanner) +
      "// The operators' identities. Constant-initialised: usable before any static initialiser ran.\n"
      "#include <shunt/core/op_state.h>\n\nnamespace shunt::ops {\n\n";
  for (const OperatorDef& op : dictionary.operators) {
    // Operators of one signature share instantiations.
    const std::string signature = returnType(op) + "(" + argumentTypes(op) + ")";
    entries.add(signature, entryPoint(op, "call", "call", "callOperator", false) +
                               entryPoint(op, "redispatch", "redispatch", "redispatchOperator", true) +
                               entryPoint(op, "call_planned", "callPlanned", "callPlanned", false));
    planned.add(signature, entryPoint(op, "redispatch_planned", "redispatchPlanned", "redispatchPlanned", true));
    symbols += fmt::format("constinit Operator {}::symbol{{{}, {}}};\n", op.cpp_name, quoted(op.schema.name()),
                           quoted(op.overload()));
  }
  entries.write(out);
  planned.write(out);
  out.write("generated/operator_symbols.cpp", symbols + "\n}  // namespace shunt::ops\n");
}

}  // namespace opgen
