// Runs a case by libtorch. Built with g++: 1.13's headers don't compile with clang 19 in C++20.
#include "tests/parity/execute.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <sstream>

namespace parity {
namespace {

struct TorchApi {
  using Tensor = at::Tensor;
  using IValue = c10::IValue;
  using Stack = torch::jit::Stack;
  using GradGuard = c10::AutoGradMode;

  static Tensor fromBytes(int dtype, const std::vector<uint8_t>& bytes) {
    const auto type = static_cast<at::ScalarType>(dtype);
    const auto n = static_cast<int64_t>(bytes.size() / c10::elementSize(type));
    Tensor t = at::empty({n}, type);
    if (n != 0) std::memcpy(t.data_ptr(), bytes.data(), bytes.size());
    return t;
  }
  static Tensor onStorage(const Tensor& base, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                          int64_t offset) {
    c10::NoGradGuard no_grad;
    return at::empty({0}, base.options()).set_(base.storage(), offset, sizes, strides);
  }
  static Tensor clone(const Tensor& t) { return t.clone(); }
  static Tensor asStrided(const Tensor& t, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                          int64_t offset) {
    return t.as_strided(sizes, strides, offset);
  }
  static void setWrappedNumber(const Tensor& t) { t.unsafeGetTensorImpl()->set_wrapped_number(true); }
  static bool same(const Tensor& a, const Tensor& b) { return a.is_same(b); }
  static Tensor grad(const Tensor& t) { return t.grad(); }
  static int64_t version(const Tensor& t) { return t._version(); }
  // Handwritten nodes have their namespace in the name.
  static std::string gradFnName(const Tensor& t) {
    const std::string name = t.grad_fn() != nullptr ? t.grad_fn()->name() : "";
    const size_t colons = name.rfind("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
  }
  static IValue boolList(const std::vector<int64_t>& v) {
    c10::List<bool> list;
    for (const int64_t b : v) list.push_back(b != 0);
    return IValue(list);
  }
  static IValue tensorList(const std::vector<Tensor>& v) { return IValue(c10::List<Tensor>(v)); }
  static IValue optionalTensorList(const std::vector<std::optional<Tensor>>& v) {
    c10::List<c10::optional<Tensor>> list;
    for (const auto& t : v) list.push_back(t ? c10::optional<Tensor>(*t) : c10::nullopt);
    return IValue(list);
  }
  static IValue cpuDevice() { return IValue(c10::Device(c10::kCPU)); }
  static void callBoxed(const std::string& name, const std::string& overload, Stack& stack) {
    c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str()).callBoxed(&stack);
  }
  static void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients) {
    torch::autograd::backward(roots, gradients);
  }

  static Value describe(const IValue& v, std::vector<Tensor>& tensors) {
    if (v.isTensor()) return tensors = {v.toTensor()}, Value::ofTensor(0);
    if (v.isTensorList()) return tensors = v.toTensorVector(), Value::ofTensors({});
    if (v.isNone()) return Value::none();
    if (v.isInt()) return Value::ofInt(v.toInt());
    if (v.isDouble()) return Value::ofDouble(v.toDouble());
    if (v.isBool()) return Value::ofBool(v.toBool());
    if (v.isString()) return Value::ofString(v.toStringRef());
    if (v.isIntList()) return Value::ofInts(v.toIntVector());
    Value other;
    other.kind = Value::Kind::kOther;
    return other;
  }
};

struct DiscardWarnings : c10::WarningHandler {
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}
};

}  // namespace

Outcome runTorch(const Case& c) { return Executor<TorchApi>(c).run(); }

void setUpTorch() {
  static DiscardWarnings discard;
  c10::Warning::set_warning_handler(&discard);
  at::set_num_threads(1);
  // oneDNN's gelu_backward reads wrong memory where the operands' layouts differ; libtorch's own kernels don't.
  at::globalContext().setUserEnabledMkldnn(false);
}

std::string torchSchema(const std::string& name, const std::string& overload) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!op) return "";
  std::ostringstream out;
  out << op->schema();
  return out.str();
}

std::vector<std::string> torchSchemas() {
  std::vector<std::string> all;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
    if (name.name.starts_with("aten::"))
      if (std::string text = torchSchema(name.name, name.overload_name); !text.empty()) all.push_back(std::move(text));
  return all;
}

}  // namespace parity
