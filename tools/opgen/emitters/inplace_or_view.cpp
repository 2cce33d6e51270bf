#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/emitters/view_and_version.h"
#include "tools/opgen/model/cpp_types.h"

#include <fmt/format.h>

namespace opgen {

using shunt::Argument;

namespace {

constexpr const char* kHead =
    R"(// Versions of what is written, views of what is aliased, where no Autograd wrapper does it (the call holds no Autograd key).
#include "generated/wrappers.h"
#include "kernels/wrappers/inplace_or_view.h"

#include <shunt/core/kernel_function.h>

namespace shunt {

)";

std::string wrapper(const OperatorDef& op) {
  std::string body = fmt::format("  if (ks.hasAny(kAutogradKeys)) [[unlikely]] return {};\n",
                                 redispatchCall(op, "ks & kAfterInplaceOrView"));
  body += forEachWritten(op, "  checkWritable({});\n");
  const std::string call = redispatchCall(op, "ks & kAfterInplaceOrView");
  if (op.isView()) {
    body += fmt::format(
        "  return asView({}, [&] {{\n    AutoDispatchBelowADInplaceOrView guard;\n    return {};\n  }}(), {});\n",
        op.viewBase().name, call, isDifferentiableView(op));
  } else {
    body += fmt::format("  {{\n    AutoDispatchBelowADInplaceOrView guard;\n    {};\n  }}\n", call);
    body += forEachWritten(op, "  autograd::increment_version({});\n") + returnWritten(op);
  }
  return fmt::format("namespace wrappers::inplace_or_view {{\n{} {}({}) {{\n{}}}\n}}\n", returnType(op), op.cpp_name,
                     parameters(op, "DispatchKeySet ks"), body);
}

}  // namespace

std::string forEachWritten(const OperatorDef& op, const std::string& statement) {
  std::string text;
  for (const Argument& a : op.arguments())
    if (isTensor(a) && a.is_write()) text += fmt::format(fmt::runtime(statement), a.name);
  return text;
}

std::string returnWritten(const OperatorDef& op) {
  std::vector<std::string> names;
  for (const Argument& a : op.arguments())
    if (isTensor(a) && a.is_write() && a.type.isPlain(shunt::TypeKind::Tensor)) names.push_back(a.name);
  const size_t n = op.returns().size();
  if (n == 0) return "";
  if (n > names.size()) fail(op.place, op.qualifiedName() + " returns more tensors than it writes to");
  names.resize(n);
  return n == 1 ? fmt::format("  return {};\n", names[0])
                : fmt::format("  return {}({});\n", returnType(op), join(names, ", "));
}

bool isDifferentiableView(const OperatorDef& op) {
  return op.derivative == nullptr || op.derivative->not_implemented || !op.derivative->nothingDifferentiable();
}

bool needsInplaceOrView(const OperatorDef& op) {
  return !op.isCompositeImplicit() && (op.isView() || op.schema.is_mutable()) && !op.hasKernelFor("ADInplaceOrView");
}

void emitInplaceOrView(const Dictionary& dictionary, const Output& out, Registrations& registrations) {
  Shards shards("generated/inplace_or_view", kInplaceOrViewShards, kHead, "\n}  // namespace shunt\n");
  for (const OperatorDef& op : dictionary.operators) {
    if (!needsInplaceOrView(op)) continue;
    registrations.push_back({&op, "ADInplaceOrView", "&wrappers::inplace_or_view::" + op.cpp_name, true});
    shards.add(op.cpp_name, wrapper(op) + instantiateKernel(registrations.back()));
  }
  shards.write(out);
}

}  // namespace opgen
