#include "tests/meta/twin.h"

#include "tests/meta/described_call.h"

#include <map>

namespace meta {
namespace {

using shunt::IValue;
using shunt::Stack;
using shunt::Tensor;

/// What Meta says where an argument's element decides the result's shape.
bool needsElements(const std::string& message) {
  return message.find("item(): the tensor is on device meta") != std::string::npos;
}

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
    auto twin =
        shunt::make_intrusive<shunt::TensorImpl>(memory.storage(), shunt::keySetFor(shunt::kMeta), impl.dtype());
    twin->set_sizes_and_strides(impl.sizes(), impl.strides(), impl.storage_offset());
    twin->set_wrapped_number(impl.is_wrapped_number());
    return Tensor(std::move(twin));
  }

  std::map<const void*, Tensor> tensors_, memory_;
};

Stack twinOf(const shunt::FunctionSchema& schema, const Stack& stack) {
  Twins twins;
  const bool decides_device = tensorsOf(stack).empty();
  Stack out;
  for (size_t i = 0; i < stack.size(); ++i) {
    const IValue& v = stack[i];
    // A factory without a device makes CPU tensors.
    const bool decides = schema.arguments()[i].name == "device" && v.isNone() && decides_device;
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

}  // namespace

Comparison callBoth(const shunt::OperatorHandle& op, Stack& stack) {
  Stack twin = twinOf(op.schema(), stack);
  const DescribedCall on_meta = describeCall(op, twin, shunt::kMeta);
  const DescribedCall on_cpu = describeCall(op, stack, shunt::kCPU);
  Comparison c{Verdict::kDisagree, on_cpu.text, on_meta.text};
  if (on_cpu.threw == on_meta.threw && on_cpu.text == on_meta.text)
    c.verdict = on_cpu.threw ? Verdict::kBothThrew : Verdict::kBothRan;
  else if ((on_meta.threw && needsElements(on_meta.text)) || (on_cpu.threw && isAboutElements(on_cpu.text)))
    c.verdict = Verdict::kDataDecided;
  return c;
}

}  // namespace meta
