// Every two of the things that a call can run in or with, in both nesting orders: what must happen, as a table. `outer`
// is entered first, and its wrapper goes around the inner one's.
#include "tests/modes/host_device.h"
#include "tests/support/difference.h"

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>

namespace shunt {
namespace {

using test::kButStrides;

const host_device::HostDevice device;
using Calls = std::map<std::string, int>;
Calls mode_calls, kernel_mode_calls, subclass_calls;  // by operator

/// One of the things: its guards live as long as it does.
struct Scope {
  virtual ~Scope() = default;
  virtual Tensor wrap(const Tensor& t) { return t; }
};

struct ModeScope : Scope {
  struct Counting : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      ++mode_calls[op.operator_name().name];
      op.callBoxed(stack);
    }
  };
  Counting mode;
  DispatchModeGuard guard{mode};
};

struct KernelModeScope : Scope {
  struct Counting : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      ++kernel_mode_calls[op.operator_name().name];
      op.callBoxed(stack);
    }
    Level level() const override { return Level::kKernel; }
  };
  Counting mode;
  DispatchModeGuard guard{mode};
};

struct SubclassScope : Scope {
  struct Wrapper : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle& op, Stack* stack) override {
      ++subclass_calls[op.operator_name().name];
      call_unwrapped<Wrapper>(op, stack);
    }
  };
  Tensor wrap(const Tensor& t) override { return shunt::wrap<Wrapper>(t); }
};

struct FunctionalizeScope : Scope {
  Tensor wrap(const Tensor& t) override { return to_functional(t); }
  FunctionalizeGuard guard;
};

struct FakeScope : Scope {
  Tensor wrap(const Tensor& t) override { return mode.from_tensor(t); }
  FakeTensorMode mode;
};

struct AutogradScope : Scope {
  Tensor wrap(const Tensor& t) override { return Tensor(t).requires_grad_(); }
  EnableGradGuard guard;
};

struct AutocastScope : Scope {
  AutocastGuard cpu{kCPU, kBFloat16}, device{DeviceType::PrivateUse1, kBFloat16};
};

struct NoGradScope : Scope {
  NoGradGuard guard;
};

struct InferenceScope : Scope {
  InferenceMode guard;
};

struct DeviceScope : Scope {
  Tensor wrap(const Tensor& t) override { return t.to(DeviceType::PrivateUse1); }
};

using MakeScope = std::unique_ptr<Scope> (*)();
template <class S>
std::unique_ptr<Scope> make() {
  return std::make_unique<S>();
}

const std::map<std::string, MakeScope> kScopes = {
    {"mode", &make<ModeScope>},
    {"subclass", &make<SubclassScope>},
    {"functionalize", &make<FunctionalizeScope>},
    {"kernel_mode", &make<KernelModeScope>},
    {"fake", &make<FakeScope>},
    {"autograd", &make<AutogradScope>},
    {"autocast", &make<AutocastScope>},
    {"no_grad", &make<NoGradScope>},
    {"inference", &make<InferenceScope>},
    {"device", &make<DeviceScope>},
};

/// The tensor in the innermost wrapper; `names` gets what is around it, from outside in: "subclass>functional>".
Tensor valueOf(const Tensor& t, std::string* names = nullptr) {
  const auto* wrapper = wrapper_cast<SubclassScope::Wrapper>(t);
  if (names != nullptr)
    *names += wrapper != nullptr ? "subclass>" : is_functional(t) ? "functional>" : is_fake(t) ? "fake>" : "";
  if (is_functional(t)) return valueOf(from_functional(t), names);
  return wrapper != nullptr ? valueOf(wrapper->inner(), names) : t;
}

Tensor input(int64_t add) { return (arange(6, kFloat) + add).view({2, 3}) / 7; }

/// A product, a write, a view, and a write to the view.
Tensor program(const Tensor& x, const Tensor& w) {
  Tensor y = x.mm(w);
  y.mul_(0.3);
  y.select(0, 1).add_(1);
  return y;
}

struct Left {
  std::string text;
  Tensor value, grad;  // plain ones
};

/// "seen" where each call was met once as the user made it, "seen-functionally" where the writes were not met as such.
std::string met(Calls& calls, const char* word) {
  if (calls.empty()) return "";
  const bool once = calls["aten::mm"] == 1 && calls["aten::select"] >= 1;
  const int in_place = calls["aten::mul_"] + calls["aten::add_"], functional = calls["aten::mul"] + calls["aten::add"];
  if (once && in_place == 2 && functional == 0) return std::string(" ") + word;
  if (once && in_place == 0 && functional == 2) return std::string(" ") + word + "-functionally";
  std::string out = std::string(" ") + word + "-oddly:";
  for (const auto& [name, n] : calls) out += detail::str(' ', name, '*', n);
  return out;
}

/// Of y, made from x, which may have been made from a leaf.
Left describe(const Tensor& y, const Tensor& x, const Tensor& leaf) {
  const std::string calls = met(mode_calls, "seen") + met(kernel_mode_calls, "offered") +
                            met(subclass_calls, "handled");  // without backward's
  std::string wrappers;
  Left left{detail::str(y.dtype()), valueOf(y, &wrappers), {}};
  if (y.device().type() == DeviceType::PrivateUse1) left.text += " device";
  if (!wrappers.empty()) left.text += " " + wrappers.substr(0, wrappers.size() - 1);
  if (left.value.is_inference()) left.text += " inference";
  if (y.requires_grad()) {
    (y * y).sum().backward();
    const Tensor grad = x.grad().defined() ? x.grad() : leaf.grad();
    left.text += grad.defined() ? " gradient" : " graph";
    if (grad.defined()) left.grad = valueOf(grad);
  }
  left.text += calls;
  return left;
}

void forgetCalls() {
  for (Calls* calls : {&mode_calls, &kernel_mode_calls, &subclass_calls}) calls->clear();
}

/// "" where they are the same, bit for bit.
std::string difference(const char* what, const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || got.sizes() != expected.sizes())
    return detail::str(" ", what, " is ", got.dtype(), got.sizes(), ", not ", expected.dtype(), expected.sizes());
  if (is_fake(got)) return "";
  const std::string different = differenceOf(expected, got.detach().to(kCPU), kButStrides);
  return different.empty() ? "" : detail::str(" ", what, ": ", different);
}

/// What the program's result becomes inside both: its dtype; where it is, if not on the CPU; all its wrappers, from
/// outside in; `inference`; `gradient` where backward reaches the leaf; whether the modes saw, or were offered at
/// kKernel, and the subclass handled each call once. Values and gradients are those of the plain run.
std::string resultOf(const std::string& outer, const std::string& inner) {
  const Tensor a = input(1), b = input(2).t().contiguous();
  Left expected;
  {
    std::optional<AutocastScope> autocast;
    if (outer == "autocast" || inner == "autocast") autocast.emplace();
    const Tensor leaf = a.clone().requires_grad_();
    expected = describe(program(leaf, b), leaf, leaf);
  }
  forgetCalls();
  Left left;
  try {
    const std::unique_ptr<Scope> first = kScopes.at(outer)(), second = kScopes.at(inner)();
    const Tensor x = first->wrap(second->wrap(a)), w = first->wrap(second->wrap(b));
    forgetCalls();  // what wrapping calls
    left = describe(program(x, w), x, a);
  } catch (const Error& e) {
    return std::string("error: ") + e.what();
  }
  return left.text + difference("the value", left.value, expected.value) +
         (left.grad.defined() ? difference("the gradient", left.grad, expected.grad) : "");
}

struct Pair {
  const char *outer, *inner, *result;
};

constexpr Pair kPairs[] = {
    {"mode", "subclass", "Float subclass seen handled"},
    {"mode", "functionalize", "Float functional seen"},
    {"mode", "fake", "Float fake seen"},
    {"mode", "autograd", "Float gradient seen"},
    {"mode", "autocast", "BFloat16 seen"},
    {"mode", "no_grad", "Float seen"},
    {"mode", "inference", "Float inference seen"},
    {"mode", "device", "Float device seen"},
    {"kernel_mode", "mode", "Float seen offered"},
    {"kernel_mode", "subclass", "Float subclass offered handled"},
    {"kernel_mode", "functionalize", "Float functional offered-functionally"},
    {"kernel_mode", "fake", "Float fake offered"},
    {"kernel_mode", "autograd", "Float gradient offered"},
    {"kernel_mode", "autocast", "BFloat16 offered"},
    {"kernel_mode", "no_grad", "Float offered"},
    {"kernel_mode", "inference", "Float inference offered"},
    {"kernel_mode", "device", "Float device offered"},
    {"mode", "kernel_mode", "Float seen offered"},
    {"subclass", "kernel_mode", "Float subclass offered handled"},
    {"functionalize", "kernel_mode", "Float functional offered-functionally"},
    {"fake", "kernel_mode", "Float fake offered"},
    {"autograd", "kernel_mode", "Float gradient offered"},
    {"autocast", "kernel_mode", "BFloat16 offered"},
    {"no_grad", "kernel_mode", "Float offered"},
    {"inference", "kernel_mode", "Float inference offered"},
    {"device", "kernel_mode", "Float device offered"},
    {"subclass", "mode", "Float subclass seen handled"},
    {"subclass", "functionalize", "Float subclass>functional handled"},
    {"subclass", "fake", "Float subclass>fake handled"},
    {"subclass", "autograd", "Float subclass gradient handled"},
    {"subclass", "autocast", "BFloat16 subclass handled"},
    {"subclass", "no_grad", "Float subclass handled"},
    {"subclass", "inference", "Float subclass inference handled"},
    {"subclass", "device", "Float device subclass handled"},
    {"functionalize", "mode", "Float functional seen"},
    {"functionalize", "subclass", "Float functional>subclass handled-functionally"},
    {"functionalize", "fake", "Float functional>fake"},
    {"functionalize", "autograd", "Float functional gradient"},
    {"functionalize", "autocast", "BFloat16 functional"},
    {"functionalize", "no_grad", "Float functional"},
    {"functionalize", "inference", "Float functional inference"},
    {"functionalize", "device", "Float device functional"},
    {"fake", "mode", "Float fake seen"},
    {"fake", "subclass",
     "error: from_tensor: a fake tensor is made of a tensor with data, but this one has the keys Python"},
    {"fake", "functionalize",
     "error: from_tensor: a fake tensor is made of a tensor with data, but this one has the keys Functionalize"},
    {"fake", "autograd", "Float fake gradient"},
    {"fake", "autocast", "BFloat16 fake"},
    {"fake", "no_grad", "Float fake"},
    {"fake", "inference", "Float fake inference"},
    {"fake", "device",
     "error: operator aten::to.dtype_layout: argument 'self' (position 1): expected a fake tensor, since a "
     "FakeTensorMode is active, got a real one"},
    {"autograd", "mode", "Float gradient seen"},
    {"autograd", "subclass", "Float subclass gradient handled"},
    {"autograd", "functionalize", "Float functional gradient"},
    {"autograd", "fake", "Float fake gradient"},
    {"autograd", "autocast", "BFloat16 gradient"},
    {"autograd", "no_grad", "Float"},
    {"autograd", "inference", "Float inference"},
    {"autograd", "device", "Float device gradient"},
    {"autocast", "mode", "BFloat16 seen"},
    {"autocast", "subclass", "BFloat16 subclass handled"},
    {"autocast", "functionalize", "BFloat16 functional"},
    {"autocast", "fake", "BFloat16 fake"},
    {"autocast", "autograd", "BFloat16 gradient"},
    {"autocast", "no_grad", "BFloat16"},
    {"autocast", "inference", "BFloat16 inference"},
    {"autocast", "device", "BFloat16 device"},
    {"no_grad", "mode", "Float seen"},
    {"no_grad", "subclass", "Float subclass handled"},
    {"no_grad", "functionalize", "Float functional"},
    {"no_grad", "fake", "Float fake"},
    {"no_grad", "autograd", "Float gradient"},
    {"no_grad", "autocast", "BFloat16"},
    {"no_grad", "inference", "Float inference"},
    {"no_grad", "device", "Float device"},
    {"inference", "mode", "Float inference seen"},
    {"inference", "subclass", "Float subclass inference handled"},
    {"inference", "functionalize", "Float functional inference"},
    {"inference", "fake", "Float fake inference"},
    {"inference", "autograd", "Float inference"},
    {"inference", "autocast", "BFloat16 inference"},
    {"inference", "no_grad", "Float inference"},
    {"inference", "device", "Float device inference"},
    {"device", "mode", "Float device seen"},
    {"device", "subclass", "Float device subclass handled"},
    {"device", "functionalize", "Float device functional"},
    {"device", "fake", "Float device fake"},
    {"device", "autograd", "Float device gradient"},
    {"device", "autocast", "BFloat16 device"},
    {"device", "no_grad", "Float device"},
    {"device", "inference", "Float device inference"},
};

TEST(Pairs, WhatMustHappen) {
  for (const auto& [outer, inner, result] : kPairs) {
    const std::string got = resultOf(outer, inner);
    if (std::string_view(result).starts_with("error"))
      EXPECT_THAT(got, testing::StartsWith(result)) << outer << ", in it " << inner;
    else
      EXPECT_EQ(got, result) << outer << ", in it " << inner;
  }
}

TEST(Pairs, AreAllThere) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Pair& p : kPairs) EXPECT_TRUE(pairs.emplace(p.outer, p.inner).second) << p.outer << ", " << p.inner;
  EXPECT_EQ(pairs.size(), kScopes.size() * (kScopes.size() - 1));
}

}  // namespace
}  // namespace shunt
