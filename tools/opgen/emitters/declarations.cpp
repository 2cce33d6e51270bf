// Emits the operators' structs, and the declarations of handwritten kernels.
#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

#include <set>

namespace opgen {

namespace {

constexpr const char* kDeclarationsHead =
    R"(// The dictionary's operators: one struct each in namespace shunt::ops, with the identity and typed entry points.
// tensor.h includes this before it defines Tensor. Any thread may call.
#pragma once

#include <shunt/core/dispatch_key_set.h>
#include <shunt/tensor/api_arguments.h>
#include <shunt/tensor/generator.h>
#include <shunt/tensor/scalar.h>
#include <shunt/tensor/tensor_fwd.h>

#include <string_view>
#include <tuple>
#include <vector>

namespace shunt {

class Operator;

namespace ops {
)";

constexpr const char* kNativeHead = R"(// Handwritten kernels that the dictionary names.
#pragma once

#include <shunt/core/annotate.h>
#include <shunt/tensor/tensor.h>

namespace shunt::native {

class ResultMeta;  // kernels/wrappers/structured.h

)";

}  // namespace

void emitDeclarations(const Dictionary& dictionary, const Output& out) {
  std::string text = std::string(kBanner) + kDeclarationsHead;
  for (const OperatorDef& op : dictionary.operators) {
    text += fmt::format(R"(
struct SHUNT_API {} {{
  using Schema = {};
  static constexpr const char* name = {};
  static constexpr const char* overload_name = {};
  static constexpr const char* schema_str =
      {};
  static Operator symbol;
  static {} call({});
  static {} redispatch({});
  [[gnu::visibility("hidden")]] static {} redispatchPlanned({});  // for the compiler, as is the next
  [[gnu::visibility("hidden")]] static {} callPlanned({});
}};
)",
                        op.cpp_name, signature(op, false), quoted(op.schema.name()), quoted(op.overload()),
                        quoted(op.schema.str()), returnType(op), parameters(op), returnType(op),
                        parameters(op, "DispatchKeySet ks"), returnType(op), parameters(op, "DispatchKeySet ks"),
                        returnType(op), parameters(op));
  }
  out.write("include/shunt/generated/operator_decls.h", text + "\n}  // namespace ops\n}  // namespace shunt\n");
}

void emitOperatorList(const Dictionary& dictionary, const Output& out) {
  std::string text = std::string(kBanner) + "// SHUNT_OPERATOR(X) for every struct ops::X.\n";
  for (const OperatorDef& op : dictionary.operators) text += fmt::format("SHUNT_OPERATOR({})\n", op.cpp_name);
  out.write("generated/operator_list.inc", text);
}

void emitNativeDeclarations(const Dictionary& dictionary, const Output& out) {
  constexpr const char* kAnnotation = "SHUNT_ANNOTATE(\"kernel\") ";
  std::string text = std::string(kBanner) + kNativeHead;
  std::set<std::string> seen;
  for (const OperatorDef& op : dictionary.operators) {
    for (const Kernel& k : op.kernels) {
      if (k.kind == KernelKind::kStructured && op.form == Form::kFunctional && seen.insert(k.name + "_meta").second)
        text += fmt::format("{2}ResultMeta {0}_meta({1});\n{2}void {0}_impl({1}, const Tensor& result);\n", k.name,
                            parameters(op), kAnnotation);
      if (k.kind != KernelKind::kNative || !seen.insert(k.name + "(" + argumentTypes(op)).second) continue;
      text += fmt::format("{}{} {}({});\n", kAnnotation, returnType(op), k.name, parameters(op));
    }
  }
  out.write("generated/native_functions.h", text + "\n}  // namespace shunt::native\n");
}

}  // namespace opgen
