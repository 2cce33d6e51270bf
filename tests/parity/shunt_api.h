// Shunt as an Executor sees it (execute.h).
#pragma once

#include "tests/parity/execute.h"

#include <shunt/shunt.h>

namespace parity {

struct ShuntApi {
  using Tensor = shunt::Tensor;
  using IValue = shunt::IValue;
  using Stack = shunt::Stack;
  using GradGuard = shunt::AutoGradMode;

  static Tensor fromBytes(int dtype, const std::vector<uint8_t>& bytes) {
    const auto type = static_cast<shunt::ScalarType>(dtype);
    const int64_t n = static_cast<int64_t>(bytes.size()) / shunt::elementSize(type);
    Tensor t(shunt::detail::makeTensor({n}, {}, type, shunt::kCPU));
    if (n != 0) std::memcpy(t.data_ptr(), bytes.data(), bytes.size());
    return t;
  }
  static Tensor onStorage(const Tensor& base, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                          int64_t offset) {
    auto impl =
        shunt::make_intrusive<shunt::TensorImpl>(base.storage(), shunt::keySetFor(shunt::kCPU), base.scalar_type());
    impl->set_sizes_and_strides(sizes, strides, offset);
    return Tensor(std::move(impl));
  }
  static Tensor clone(const Tensor& t) { return t.clone(); }
  static Tensor asStrided(const Tensor& t, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                          int64_t offset) {
    return t.as_strided(sizes, strides, offset);
  }
  static void setWrappedNumber(const Tensor& t) { t.unsafeGetTensorImpl()->set_wrapped_number(true); }
  static bool same(const Tensor& a, const Tensor& b) { return a.is_same(b); }
  static const Tensor& grad(const Tensor& t) { return t.grad(); }
  static int64_t version(const Tensor& t) { return t._version(); }
  static std::string gradFnName(const Tensor& t) { return t.grad_fn() != nullptr ? t.grad_fn()->name() : ""; }
  static IValue boolList(const std::vector<int64_t>& v) { return IValue(std::vector<char>(v.begin(), v.end())); }
  static IValue tensorList(const std::vector<Tensor>& v) { return IValue(v); }
  static IValue optionalTensorList(const std::vector<std::optional<Tensor>>& v) { return IValue(v); }
  static IValue cpuDevice() { return IValue(shunt::Device(shunt::kCPU)); }
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    shunt::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()).callBoxed(&stack);
  }
  static void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients) {
    shunt::autograd::backward(roots, gradients);
  }

  static Value describe(const IValue& v, std::vector<Tensor>& tensors) {
    using Tag = IValue::Tag;
    switch (v.tag()) {
      case Tag::Tensor:
        tensors = {v.toTensor()};
        return Value::ofTensor(0);
      case Tag::TensorList:
        tensors = v.toTensorVector();
        return Value::ofTensors({});
      case Tag::None:
        return Value::none();
      case Tag::Int:
        return Value::ofInt(v.toInt());
      case Tag::Double:
        return Value::ofDouble(v.toDouble());
      case Tag::Bool:
        return Value::ofBool(v.toBool());
      case Tag::String:
        return Value::ofString(v.toStringRef());
      case Tag::IntList:
        return Value::ofInts(v.toIntVector());
      default:
        break;
    }
    Value other;
    other.kind = Value::Kind::kOther;
    return other;
  }
};

}  // namespace parity
