// What the tests of operands in the memory that is written share: ways to lie there, and calls of all operators that
// write, made from their schemas. Pure functions; any thread.
#pragma once

#include <shunt/core/dispatcher.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/shunt.h>
#include <shunt/tensor/expand_utils.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shunt::test {

/// How what is read lies to what is written.
struct Overlapping {
  const char* name;
  /// Of a square matrix.
  Tensor (*written)(const Tensor& y);
  Tensor (*read)(const Tensor& y);
  bool apart = false;  // nothing that is read is written, but by the same element
};

inline const std::vector<Overlapping>& overlappings() {
  static const std::vector<Overlapping> all = {
      {"own column", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y.narrow(1, y.size(1) - 1, 1); }},
      {"own row, with gaps", [](const Tensor& y) { return y.narrow(1, 0, y.size(1) - 1); },
       [](const Tensor& y) { return y.narrow(1, 0, y.size(1) - 1)[0]; }},
      {"row", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y[0]; }},
      {"shifted columns", [](const Tensor& y) { return y.narrow(1, 1, y.size(1) - 1); },
       [](const Tensor& y) { return y.narrow(1, 0, y.size(1) - 1); }},
      {"shifted back", [](const Tensor& y) { return y.narrow(1, 0, y.size(1) - 1); },
       [](const Tensor& y) { return y.narrow(1, 1, y.size(1) - 1); }},
      {"shifted rows", [](const Tensor& y) { return y.narrow(0, 1, y.size(0) - 1); },
       [](const Tensor& y) { return y.narrow(0, 0, y.size(0) - 1); }},
      {"diagonal", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y.diagonal(); }},
      {"transpose", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y.t(); }},
      {"transpose, with gaps",
       [](const Tensor& y) { return y.narrow(0, 1, y.size(0) - 1).narrow(1, 0, y.size(1) - 1); },
       [](const Tensor& y) { return y.narrow(0, 1, y.size(0) - 1).narrow(1, 0, y.size(1) - 1).t(); }},
      {"every third column", [](const Tensor& y) { return y.slice(1, 0, std::nullopt, 2); },
       [](const Tensor& y) { return y.slice(1, 1, std::nullopt, 3).narrow(1, 1, 1); }},
      {"one element", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y[y.size(0) - 1][0]; }},
      {"other bits", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y.view(kInt).narrow(1, 1, 1); }},
      {"odd rows", [](const Tensor& y) { return y.slice(0, 1, std::nullopt, 2); },
       [](const Tensor& y) { return y.slice(0, 0, -1, 2); }, true},
      {"odd columns", [](const Tensor& y) { return y.slice(1, 1, std::nullopt, 2); },
       [](const Tensor& y) { return y.slice(1, 0, -1, 2); }, true},
      {"the same, with gaps", [](const Tensor& y) { return y.slice(1, 0, std::nullopt, 2); },
       [](const Tensor& y) { return y.slice(1, 0, std::nullopt, 2); }, true},
      {"the same", [](const Tensor& y) { return y; }, [](const Tensor& y) { return y.view(y.sizes()); }, true},
  };
  return all;
}

inline IValue valueOf(const Argument& a) {
  if (!a.default_value || a.default_value->isNone()) return IValue();
  const DefaultValue& v = *a.default_value;
  if (v.isBool()) return IValue(v.toBool());
  if (v.isInt()) return a.type.kind == TypeKind::Scalar ? IValue(Scalar(v.toInt())) : IValue(v.toInt());
  if (v.isDouble()) return a.type.kind == TypeKind::Scalar ? IValue(Scalar(v.toDouble())) : IValue(v.toDouble());
  if (v.isString()) return IValue(v.toStringRef());
  return IValue(v.toIntVector());
}

/// A call of an operator that writes to `written` and reads `read`; nothing where nobody knows what to give it.
inline std::optional<Stack> callOf(const OperatorHandle& op, const Tensor& written, const Tensor& read) {
  const FunctionSchema& schema = op.schema();
  const bool vector = schema.name().starts_with("aten::index");  // whose index has one dimension
  const auto options = TensorOptions().dtype(kLong);
  const Tensor index = (arange(vector ? written.size(0) : written.numel(), options) * 3).remainder(written.size(0));
  const Tensor at = vector ? index : index.view(written.sizes());
  const Tensor whole = is_expandable_to(read.sizes(), written.sizes()) ? read.expand(written.sizes()) : read;
  Stack stack;
  bool reads = false;
  for (const Argument& a : schema.arguments()) {
    if (a.type.kind == TypeKind::Tensor && a.type.isPlain(TypeKind::Tensor)) {
      if (a.is_write()) {
        stack.push_back(written);
      } else if (a.name.find("ind") == 0) {
        stack.push_back(at);
      } else if (a.name == "mask" || a.name == "condition") {
        stack.push_back(at.gt(1));
      } else {
        stack.push_back(vector || schema.name().find("scatter") != std::string::npos ? whole : read);
        reads = true;
      }
    } else if (a.name == "indices") {
      stack.push_back(IValue(std::vector<std::optional<Tensor>>{at}));
    } else if (a.name == "tensors") {
      const int64_t half = whole.size(0) / 2;
      stack.push_back(
          IValue(std::vector<Tensor>{whole.narrow(0, half, whole.size(0) - half), whole.narrow(0, 0, half)}));
      reads = true;
    } else if (a.name == "dim") {
      stack.push_back(a.type.kind == TypeKind::Int ? IValue(int64_t{0}) : IValue(std::vector<int64_t>{0}));
    } else if (a.name == "min" || a.name == "max") {
      stack.push_back(a.type.kind == TypeKind::Tensor ? IValue(read) : IValue(Scalar(0.5)));
    } else if (a.name == "reduction") {
      stack.push_back(int64_t{0});
    } else if (a.type.kind == TypeKind::Bool && !a.default_value) {
      stack.push_back(false);
    } else if (a.name == "reduce") {
      stack.push_back(IValue(std::string(schema.name().find("scatter_reduce") != std::string::npos ? "sum" : "add")));
    } else if (a.default_value || a.type.optional) {
      stack.push_back(valueOf(a));
    } else if (a.type.kind == TypeKind::Scalar) {
      stack.push_back(Scalar(0.5));
    } else if (a.type.kind == TypeKind::Float) {
      stack.push_back(0.5);
    } else {
      return std::nullopt;
    }
  }
  return reads ? std::optional<Stack>(std::move(stack)) : std::nullopt;
}

/// The library's operators that write and read tensors, for which callOf() knows a call.
inline std::vector<OperatorHandle> writingOperators() {
  std::vector<OperatorHandle> out;
  const Tensor t = ones({4, 4});
  for (const OperatorName& name : Dispatcher::singleton().getAllOpNames()) {
    const auto op = Dispatcher::singleton().findSchema(name);
    if (!op || !name.name.starts_with("aten::") || name.name.starts_with("aten::empty") || !op->schema().is_mutable())
      continue;
    if (callOf(*op, t, t)) out.push_back(*op);
  }
  return out;
}

}  // namespace shunt::test
