#include "tests/parity/snippet.h"

#include "tests/parity/dtypes.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace parity {
namespace {

std::string braces(const std::vector<int64_t>& v) {
  std::string out = "{";
  for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + std::to_string(v[i]);
  return out + "}";
}

std::string number(double d) {
  if (std::isnan(d)) return "NAN";
  if (std::isinf(d)) return d < 0 ? "-INFINITY" : "INFINITY";
  std::ostringstream out;
  out << std::setprecision(17) << d;
  const std::string text = out.str();
  return text.find_first_of(".en") == std::string::npos ? text + "." : text;
}

// One library's spelling.
class Writer {
 public:
  Writer(const Case& c, const shunt::FunctionSchema& schema, std::string ns, std::string ops)
      : case_(c), schema_(schema), ns_(std::move(ns)), ops_(std::move(ops)) {}

  std::string write() {
    for (const int64_t i : used()) tensor(static_cast<size_t>(i));
    std::string overload = case_.overload.empty() ? "" : "_" + case_.overload;
    if (case_.no_grad) out_ << "  " << (ns_ == "at" ? "at" : ns_) << "::NoGradGuard no_grad;\n";
    out_ << "  auto result = " << ops_ << "::" << case_.name.substr(case_.name.find("::") + 2) << overload << "::call(";
    for (size_t i = 0; i < case_.args.size(); ++i) out_ << (i ? ", " : "") << argument(i);
    out_ << ");\n";
    return out_.str();
  }

 private:
  static bool isTensorList(const Value& v) {
    return v.kind == Value::Kind::kTensorList || v.kind == Value::Kind::kOptionalTensorList;
  }
  std::vector<int64_t> used() const {
    std::vector<int64_t> all;
    for (const Value& v : case_.args)
      if (v.kind == Value::Kind::kTensor || isTensorList(v))
        for (const int64_t i : v.ints)
          if (i >= 0 && std::ranges::find(all, i) == all.end()) all.push_back(i);
    return all;
  }

  void tensor(size_t i) {
    const TensorSpec& t = case_.tensors[i];
    out_ << "  " << ns_ << "::Tensor t" << i;
    if (!t.defined) {
      out_ << ";\n";
      return;
    }
    const StorageSpec& s = case_.storages[static_cast<size_t>(t.storage)];
    const size_t n = s.bytes.size() / itemSize(s.dtype);
    const bool view = t.origin == Origin::kViewOfClone;
    out_ << " = " << ns_ << "::tensor({";
    for (size_t k = 0; k < n; ++k)
      out_ << (k ? ", " : "")
           << (isFloating(s.dtype) ? number(loadElement(s.dtype, &s.bytes[k * itemSize(s.dtype)]))
                                   : std::to_string(loadInteger(s.dtype, &s.bytes[k * itemSize(s.dtype)])));
    out_ << "}, " << ns_ << "::" << dtypeConstant(s.dtype) << ")";
    const std::string leaf = t.requires_grad ? ".requires_grad_()" : "";
    if (view) out_ << leaf << ".clone()";
    out_ << ".as_strided(" << braces(t.sizes) << ", " << braces(t.strides) << ", " << t.offset << ")";
    if (!view)
      out_ << (t.requires_grad ? ".detach().requires_grad_()" : "")
           << (t.origin == Origin::kCloneOfLeaf ? ".clone()" : "");
    out_ << ";\n";
    if (t.wrapped_number) out_ << "  t" << i << ".unsafeGetTensorImpl()->set_wrapped_number(true);\n";
  }

  std::string argument(size_t i) const {
    const Value& v = case_.args[i];
    switch (v.kind) {
      case Value::Kind::kNone:
        return "{}";
      case Value::Kind::kTensor:
        return "t" + std::to_string(v.ints[0]);
      case Value::Kind::kTensorList:
      case Value::Kind::kOptionalTensorList: {
        std::string list;
        for (const int64_t t : v.ints)
          list += (list.empty() ? "" : ", ") + (t < 0 ? "std::nullopt" : "t" + std::to_string(t));
        const bool optional = v.kind == Value::Kind::kOptionalTensorList;
        const std::string element = optional ? "std::optional<" + ns_ + "::Tensor>" : ns_ + "::Tensor";
        return "std::vector<" + element + ">{" + list + "}";
      }
      case Value::Kind::kInt:
        return integer(i, v.i);
      case Value::Kind::kDouble:
        return number(v.d);
      case Value::Kind::kBool:
        return v.i ? "true" : "false";
      case Value::Kind::kString:
        return "\"" + v.s + "\"";
      case Value::Kind::kIntList:
        return braces(v.ints);
      case Value::Kind::kDeviceCpu:
        return ns_ + "::kCPU";
      default:
        return "/* list */ {}";
    }
  }

  std::string integer(size_t i, int64_t v) const {
    switch (schema_.arguments()[i].type.kind) {
      case shunt::TypeKind::ScalarType:
        return ns_ + "::" + dtypeConstant(static_cast<int>(v));
      case shunt::TypeKind::MemoryFormat:
        return ns_ + "::MemoryFormat(" + std::to_string(v) + ")";
      case shunt::TypeKind::Layout:
        return ns_ + "::kStrided";
      default:
        return std::to_string(v);
    }
  }

  const Case& case_;
  const shunt::FunctionSchema& schema_;
  std::string ns_, ops_;
  std::ostringstream out_;
};

}  // namespace

std::string snippetOf(const Case& c, const shunt::FunctionSchema& schema) {
  return "{  // Shunt\n" + Writer(c, schema, "shunt", "shunt::ops").write() + "}\n{  // libtorch\n" +
         Writer(c, schema, "at", "at::_ops").write() + "}\n";
}

}  // namespace parity
