#include "tests/meta/twin.h"

#include <algorithm>
#include <map>
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

/// Errors about elements, which Meta hasn't got.
bool isAboutElements(const std::string& message) {
  constexpr const char* kAboutElements[] = {
      "is out of bounds.",           // a class of nll_loss
      "index out of range in self",  // index_select, index_add
      "ZeroDivisionError",           // integers
      "Mask tensor can take 0 and 1 values only",
      "bernoulli_ expects p to be in [0, 1]",
  };
  const bool fills_with_element = contains(message, "fill") && contains(message, ".Tensor)");
  if (fills_with_element && contains(message, "value cannot be converted to type")) return true;
  return std::ranges::any_of(kAboutElements, [&](const char* part) { return contains(message, part); });
}

/// What Meta says where an argument's element decides the result's shape.
bool needsElements(const std::string& message) { return contains(message, "item(): the tensor is on device meta"); }

class Twins {
 public:
  Tensor of(const Tensor& t) {
    if (!t.defined()) return t;
    Tensor& twin = tensors_[t.unsafeGetTensorImpl()];
    if (!twin.defined()) twin = make(*t.unsafeGetTensorImpl());
    return twin;
  }

 private:
  Tensor make(const shunt::TensorImpl& impl) {
    Tensor& memory = memory_[impl.storage().get()];
    if (!memory.defined()) {
      const auto bytes = static_cast<int64_t>(impl.storage()->nbytes());
      memory = Tensor(shunt::detail::makeTensor(bytes, {}, shunt::kByte, shunt::kMeta));
    }
    auto twin = shunt::make_intrusive<shunt::TensorImpl>(memory.storage(), shunt::keySetFor(shunt::kMeta), impl.dtype());
    twin->set_sizes_and_strides(impl.sizes(), impl.strides(), impl.storage_offset());
    twin->set_wrapped_number(impl.is_wrapped_number());
    return Tensor(std::move(twin));
  }

  std::map<const void*, Tensor> tensors_, memory_;
};

void collect(const Stack& stack, std::vector<Tensor>& tensors) {
  for (const IValue& v : stack) {
    if (v.tag() == IValue::Tag::Tensor) tensors.push_back(v.toTensor());
    if (v.tag() == IValue::Tag::TensorList)
      for (const Tensor& t : v.toTensorVector()) tensors.push_back(t);
  }
}

Stack twinOf(const shunt::FunctionSchema& schema, const Stack& stack) {
  Twins twins;
  std::vector<Tensor> inputs;
  collect(stack, inputs);
  Stack out;
  for (size_t i = 0; i < stack.size(); ++i) {
    const IValue& v = stack[i];
    // A factory without a device makes CPU tensors.
    const bool decides = schema.arguments()[i].name == "device" && v.isNone() && inputs.empty();
    if (v.tag() == IValue::Tag::Tensor) {
      out.push_back(twins.of(v.toTensor()));
    } else if (v.tag() == IValue::Tag::TensorList) {
      std::vector<Tensor> list;
      for (const Tensor& t : v.toTensorVector()) list.push_back(twins.of(t));
      out.push_back(std::move(list));
    } else {
      out.push_back(v.tag() == IValue::Tag::Device || decides ? IValue(shunt::Device(shunt::kMeta)) : v);
    }
  }
  return out;
}

void describe(std::ostream& out, const Tensor& t, const std::vector<Tensor>& arguments) {
  if (!t.defined()) {
    out << " undefined";
    return;
  }
  out << ' ' << t.dtype() << t.sizes() << " strides";
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1 && t.numel() != 0) out << ' ' << t.stride(d);
    else out << " -";  // addresses nothing
  out << " offset " << t.storage_offset();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].defined()) continue;
    if (t.is_same(arguments[i])) out << " is tensor " << i;
    else if (t.is_alias_of(arguments[i])) out << " shares memory with tensor " << i;
  }
}

struct Run {
  bool threw = false;
  std::string text;  // the error, or results and arguments afterwards
};

Run run(const shunt::OperatorHandle& op, Stack& stack, shunt::Device device) {
  std::vector<Tensor> arguments, results;
  std::vector<uint64_t> versions;
  collect(stack, arguments);
  for (const Tensor& t : arguments) versions.push_back(t.defined() ? static_cast<uint64_t>(t._version()) : 0);
  try {
    op.callBoxed(&stack);
  } catch (const std::exception& e) {
    return {true, withoutDevice(e.what())};
  }
  collect(stack, results);
  std::ostringstream text;
  for (const Tensor& t : results) {
    text << "\n  returns";
    describe(text, t, arguments);
    if (t.defined() && t.device() != device) text << " on " << t.device();
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    text << "\n  tensor " << i;
    describe(text, arguments[i], {});
    if (arguments[i].defined()) text << ", written " << static_cast<uint64_t>(arguments[i]._version()) - versions[i] << " times";
  }
  return {false, text.str()};
}

}  // namespace

Comparison callBoth(const shunt::OperatorHandle& op, Stack& stack) {
  Stack twin = twinOf(op.schema(), stack);
  const Run on_meta = run(op, twin, shunt::kMeta);
  const Run on_cpu = run(op, stack, shunt::kCPU);
  Comparison c{Verdict::kDisagree, on_cpu.text, on_meta.text};
  if (on_cpu.threw == on_meta.threw && on_cpu.text == on_meta.text)
    c.verdict = on_cpu.threw ? Verdict::kBothThrew : Verdict::kBothRan;
  else if ((on_meta.threw && needsElements(on_meta.text)) || (on_cpu.threw && isAboutElements(on_cpu.text)))
    c.verdict = Verdict::kDataDecided;
  return c;
}

}  // namespace meta
