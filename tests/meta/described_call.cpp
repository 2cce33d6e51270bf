#include "tests/meta/described_call.h"

#include <algorithm>
#include <sstream>

namespace meta {
namespace {

using shunt::IValue;
using shunt::Stack;
using shunt::Tensor;

/// Errors about shapes may show a tensor with its device.
std::string withoutDevice(std::string message) {
  for (const std::string device : {"(cpu ", "(meta "})
    for (size_t at; (at = message.find(device)) != std::string::npos;) message.replace(at, device.size(), "(");
  return message;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

void describe(std::ostream& out, const Tensor& t, const std::vector<Tensor>& arguments) {
  if (!t.defined()) {
    out << " undefined";
    return;
  }
  out << shapeOf(t) << " offset " << t.storage_offset();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].defined()) continue;
    if (t.is_same(arguments[i]))
      out << " is tensor " << i;
    else if (t.is_alias_of(arguments[i]))
      out << " shares memory with tensor " << i;
  }
  if (t.requires_grad()) out << (t.is_leaf() ? " leaf that requires grad" : " requires grad");
  if (t.is_view()) out << " view";
  if (t.grad_fn() != nullptr) out << " of " << t.grad_fn()->name();
  if (t.is_inference()) out << " inference";
  if (t.unsafeGetTensorImpl()->is_wrapped_number()) out << " number";
}

}  // namespace

std::string shapeOf(const Tensor& t) {
  std::ostringstream out;
  out << ' ' << t.dtype() << t.sizes() << " strides";
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1 && t.numel() != 0)
      out << ' ' << t.stride(d);
    else
      out << " -";  // addresses nothing
  return std::move(out).str();
}

std::vector<Tensor> tensorsOf(const Stack& stack) {
  std::vector<Tensor> tensors;
  for (const IValue& v : stack) {
    if (v.tag() == IValue::Tag::Tensor) tensors.push_back(v.toTensor());
    if (v.tag() == IValue::Tag::TensorList)
      for (const Tensor& t : v.toTensorVector()) tensors.push_back(t);
  }
  return tensors;
}

bool isAboutElements(const std::string& message) {
  constexpr const char* kAboutElements[] = {
      "is out of bounds.",               // a class of nll_loss
      "is out of bounds for dimension",  // gather, scatter
      "index out of range in self",      // index_select, index_add
      "ZeroDivisionError",               // integers
      "Mask tensor can take 0 and 1 values only",
      "bernoulli_ expects p to be in [0, 1]",
      "is singular",  // a matrix
      "not positive-definite",
      "Class values must be",       // one_hot
      "should be between 0 and 1",  // binary_cross_entropy
  };
  const bool fills_with_element = contains(message, "fill") && contains(message, ".Tensor)");
  if (fills_with_element && contains(message, "value cannot be converted to type")) return true;
  return std::ranges::any_of(kAboutElements, [&](const char* part) { return contains(message, part); });
}

DescribedCall describeCall(const shunt::OperatorHandle& op, Stack& stack, shunt::Device device) {
  const std::vector<Tensor> arguments = tensorsOf(stack);
  std::vector<uint64_t> versions;
  for (const Tensor& t : arguments) versions.push_back(t.defined() ? static_cast<uint64_t>(t._version()) : 0);
  try {
    op.callBoxed(&stack);
  } catch (const std::exception& e) {
    return {true, withoutDevice(e.what())};
  }
  std::ostringstream text;
  for (const Tensor& t : tensorsOf(stack)) {
    text << "\n  returns";
    describe(text, t, arguments);
    if (t.defined() && t.device() != device) text << " on " << t.device();
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    text << "\n  tensor " << i;
    describe(text, arguments[i], {});
    if (arguments[i].defined())
      text << ", written " << static_cast<uint64_t>(arguments[i]._version()) - versions[i] << " times";
  }
  return {false, text.str()};
}

}  // namespace meta
