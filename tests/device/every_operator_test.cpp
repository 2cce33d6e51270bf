// Every operator of the dictionary on the device, through the CPU fallback or as a composite: what the CPU gives,
// tensors on the device.
#include "tests/device/host_backend.h"

#include <shunt/core/log.h>

#include <gtest/gtest.h>

#include <cmath>

namespace shunt {
namespace {

std::optional<IValue> defaultOf(const Argument& a) {
  const DefaultValue& d = *a.default_value;
  if (d.isNone()) return IValue();
  if (d.isBool()) return IValue(d.toBool());
  if (d.isInt()) return IValue(d.toInt());
  if (d.isDouble()) return IValue(d.toDouble());
  if (d.isString()) return IValue(d.toStringRef());
  if (d.isList() && a.type.kind == TypeKind::Int) return IValue(d.toIntVector());
  return std::nullopt;
}

/// A value for an argument, the same for both devices; nothing for types that need a choice of their own.
std::optional<IValue> valueOf(const Argument& a, Device device, int which) {
  const auto tensor = [&] {
    const bool index = a.name == "index" || a.name == "target" || a.name == "indices";
    const bool mask = a.name == "mask" || a.name == "condition";
    const Tensor t =
        index ? zeros({3}, TensorOptions(kLong)) : arange(9, TensorOptions(kFloat)).view({3, 3}).add(1).div(10 + which);
    return (mask ? t.gt(0.5) : t).to(TensorOptions(device));
  };
  if (a.type.optional && !a.default_value) return a.type.kind == TypeKind::Device ? IValue(device) : IValue();
  if (a.type.kind == TypeKind::Device) return IValue(device);
  if (a.type.kind == TypeKind::Generator) return IValue();
  if (a.default_value) return defaultOf(a);
  if (a.type.kind == TypeKind::Tensor && a.type.list)
    return a.type.element_optional ? std::nullopt : std::optional(IValue(std::vector<Tensor>{tensor(), tensor()}));
  if (a.type.kind == TypeKind::Tensor) return IValue(tensor());
  if (a.type.list)
    return a.type.kind == TypeKind::Int ? std::optional(IValue(std::vector<int64_t>{3, 3})) : std::nullopt;
  switch (a.type.kind) {
    case TypeKind::Scalar:
    case TypeKind::Float:
      return IValue(0.5);
    case TypeKind::Int:
      return IValue(a.name == "dim" ? 0 : 1);
    case TypeKind::Bool:
      return IValue(false);
    case TypeKind::ScalarType:
      return IValue(kFloat);
    default:
      return std::nullopt;
  }
}

/// The returns and written arguments of a call as text, with their bits on the CPU; the error where it throws.
std::optional<std::string> outcome(const OperatorHandle& op, Device device, std::string& wrong_device) {
  Stack stack;
  std::vector<Tensor> seen;
  for (const Argument& a : op.schema().arguments()) {
    auto v = valueOf(a, device, static_cast<int>(stack.size()));
    if (!v) return std::nullopt;
    if (a.is_write() && v->isTensor()) seen.push_back(v->toTensor());
    stack.push_back(std::move(*v));
  }
  manual_seed(5);
  try {
    op.callBoxed(&stack);
  } catch (const Error&) {
    return "throws";
  }
  std::string text;
  for (const IValue& v : stack) {
    if (v.isScalar()) text += detail::str(v, ';');
    forEachTensor(v, [&](const Tensor& t) { seen.push_back(t); });
  }
  const std::string name = op.operator_name().str();
  const bool has_values =
      name.find("aten::empty") == name.npos && name.find("new_empty") == name.npos && name.find("resize") == name.npos;
  for (const Tensor& t : seen) {
    if (t.device().type() != device.type()) wrong_device += name + " ";
    text += detail::str(t.dtype(), t.sizes(), ' ');
    if (has_values) text += t.cpu().to(kDouble).toString() + "; ";
  }
  return text;
}

TEST(EveryOperator, GivesOnTheDeviceWhatItDoesOnTheCpu) {
  test::useHostBackend();
  set_log_sink([](LogLevel, const char*) {});
  std::string different, wrong_device, ignored;
  int ran = 0, threw = 0;
  for (const OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    const auto op = Dispatcher::singleton().findSchema(name);
    if (!op || name.getNamespace() != "aten") continue;
    const auto on_cpu = outcome(*op, kCPU, ignored), on_device = outcome(*op, test::kToy, wrong_device);
    if (!on_cpu) continue;
    ++(*on_cpu == "throws" ? threw : ran);
    if (on_cpu != on_device) different += detail::str(name, ": ", *on_cpu, "\n    but ", *on_device, '\n');
  }
  set_log_sink(nullptr);
  EXPECT_EQ(different, "");
  EXPECT_EQ(wrong_device, "");
  EXPECT_GT(ran, 300);
  std::printf("%d operators gave values, %d refuse these arguments\n", ran, threw);
}

}  // namespace
}  // namespace shunt
