#include "kernels/wrappers/register.h"

namespace shunt::wrappers {

namespace {

// Leaked on purpose: taking the dictionary apart at exit would cost time and serve nobody.
std::vector<RegistrationHandle>& handles() {
  static auto* const all = new std::vector<RegistrationHandle>;
  return *all;
}

KernelFunction kernelOf(const KernelRow& row) {
  if (row.unboxed == nullptr) return KernelFunction::makeFallthrough();
  KernelFunction k;
  k.unboxed = row.unboxed;
  k.boxed = row.boxed;
  k.signature = &row.signature();
  return k;
}

OperatorName nameOf(const Operator& op) { return OperatorName(std::string(op.name()), std::string(op.overload())); }

}  // namespace

void registerOperators(ArrayRef<OperatorRow> rows) {
  Dispatcher& dispatcher = Dispatcher::singleton();
  for (const OperatorRow& row : rows) {
    dispatcher.bindOperator(*row.symbol);
    handles().push_back(dispatcher.registerDef(parseSchema(row.schema), row.where));
  }
}

void registerKernels(ArrayRef<KernelRow> rows) {
  Dispatcher& dispatcher = Dispatcher::singleton();
  for (const KernelRow& row : rows) {
    const OperatorName name = nameOf(*row.symbol);
    handles().push_back(row.as.other != nullptr ? registerStandIn(name, row.key, kernelOf(row), row.as, row.where)
                                                : dispatcher.registerImpl(name, row.key, kernelOf(row), row.where));
  }
}

}  // namespace shunt::wrappers
