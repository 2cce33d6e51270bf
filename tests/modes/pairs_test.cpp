// Every two of the things that a call can run in or with, in both nesting orders: what must happen, as a table. `outer` is
// entered first, and its wrapper goes around the inner one's.
#include "tests/modes/host_device.h"

#include <shunt/modes/fake_tensor.h>
#include <shunt/modes/functionalize.h>
#include <shunt/modes/tensor_subclass.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace shunt {
namespace {

const host_device::HostDevice device;
int mode_calls = 0, subclass_calls = 0;

/// One of the things: its guards live as long as it does.
struct Scope {
  virtual ~Scope() = default;
  virtual Tensor wrap(const Tensor& t) { return t; }
};

struct ModeScope : Scope {
  struct Counting : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      if (op.operator_name().name == "aten::mm") ++mode_calls;
      op.callBoxed(stack);
    }
  };
  Counting mode;
  DispatchModeGuard guard{mode};
};

struct SubclassScope : Scope {
  struct Wrapper : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle& op, Stack* stack) override {
      if (op.operator_name().name == "aten::mm") ++subclass_calls;
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
std::unique_ptr<Scope> make() { return std::make_unique<S>(); }

const std::map<std::string, MakeScope> kScopes = {
    {"mode", &make<ModeScope>},         {"subclass", &make<SubclassScope>}, {"functionalize", &make<FunctionalizeScope>},
    {"fake", &make<FakeScope>},             {"autograd", &make<AutogradScope>}, {"autocast", &make<AutocastScope>}, {"no_grad", &make<NoGradScope>},
    {"inference", &make<InferenceScope>}, {"device", &make<DeviceScope>},
};

/// Without subclasses and functional wrappers.
Tensor valueOf(const Tensor& t) {
  if (is_functional(t)) return valueOf(from_functional(t));
  const auto* wrapper = wrapper_cast<SubclassScope::Wrapper>(t);
  return wrapper != nullptr ? valueOf(wrapper->inner()) : t;
}

Tensor input(int64_t add) { return (arange(6, kFloat) + add).view({2, 3}) / 8; }

/// Of y, made from x, which may have been made from a leaf.
std::string describe(const Tensor& y, const Tensor& x, const Tensor& leaf) {
  std::string out = detail::str(y.dtype());
  const auto say = [&](bool is, const char* what) { if (is) out += std::string(" ") + what; };
  say(y.device().type() == DeviceType::PrivateUse1, "device");
  say(wrapper_cast<SubclassScope::Wrapper>(y) != nullptr, "subclass");
  say(is_functional(y), "functional");
  say(is_fake(valueOf(y)), "fake");
  say(valueOf(y).is_inference(), "inference");
  const int seen = mode_calls, handled = subclass_calls;  // backward's own products count no more
  if (y.requires_grad()) {
    y.sum().backward();
    const Tensor grad = x.grad().defined() ? x.grad() : leaf.grad();
    say(true, !grad.defined() ? "graph" : grad.dtype() == kFloat && grad.sizes() == x.sizes() ? "gradient" : "odd-gradient");
  }
  say(seen != 0, seen == 1 ? "seen" : "seen-often");
  say(handled != 0, handled == 1 ? "handled" : "handled-often");
  return out;
}

/// What a product becomes inside both: its dtype; where it is, if not on the CPU; its wrappers; `inference`; `gradient` where backward
/// reaches the leaf; whether the mode saw it and the subclass handled it, which each may do once. Values are compared with the plain ones.
std::string resultOf(const std::string& outer, const std::string& inner) {
  mode_calls = subclass_calls = 0;
  const Tensor a = input(1), b = input(2).t().contiguous(), expected = a.mm(b);
  Tensor y;
  std::string out;
  try {
    const std::unique_ptr<Scope> first = kScopes.at(outer)(), second = kScopes.at(inner)();
    const Tensor x = first->wrap(second->wrap(a)), w = first->wrap(second->wrap(b));
    y = x.mm(w);
    out = describe(y, x, a);
  } catch (const Error& e) {
    return std::string("error: ") + e.what();
  }
  const Tensor value = valueOf(y).detach();
  if (is_fake(value)) return out + (y.sizes() == expected.sizes() ? "" : " of another shape");
  const double off = (value.to(kCPU).to(kFloat) - expected).abs().max().item<double>();
  return out + (off <= (y.dtype() == kFloat ? 0 : 0.05) ? "" : " wrong");
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
    {"subclass", "mode", "Float subclass seen handled"},
    {"subclass", "functionalize", "Float subclass handled"},
    {"subclass", "fake", "Float subclass fake handled"},
    {"subclass", "autograd", "Float subclass gradient handled"},
    {"subclass", "autocast", "BFloat16 subclass handled"},
    {"subclass", "no_grad", "Float subclass handled"},
    {"subclass", "inference", "Float subclass inference handled"},
    {"subclass", "device", "Float device subclass handled"},
    {"functionalize", "mode", "Float functional seen"},
    {"functionalize", "subclass", "Float functional handled"},
    {"functionalize", "fake", "Float functional fake"},
    {"functionalize", "autograd", "Float functional gradient"},
    {"functionalize", "autocast", "BFloat16 functional"},
    {"functionalize", "no_grad", "Float functional"},
    {"functionalize", "inference", "Float functional inference"},
    {"functionalize", "device", "Float device functional"},
    {"fake", "mode", "Float fake seen"},
    {"fake", "subclass", "error: from_tensor: a fake tensor is made of a tensor with data, but this one has the keys Python"},
    {"fake", "functionalize", "error: from_tensor: a fake tensor is made of a tensor with data, but this one has the keys Functionalize"},
    {"fake", "autograd", "Float fake gradient"},
    {"fake", "autocast", "BFloat16 fake"},
    {"fake", "no_grad", "Float fake"},
    {"fake", "inference", "Float fake inference"},
    {"fake", "device", "error: operator aten::to.dtype_layout: argument 'self' (position 1): expected a fake tensor, since a FakeTensorMode is active, got a real one"},
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
    if (std::string_view(result).starts_with("error")) EXPECT_THAT(got, testing::StartsWith(result)) << outer << ", in it " << inner;
    else EXPECT_EQ(got, result) << outer << ", in it " << inner;
  }
}

TEST(Pairs, AreAllThere) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Pair& p : kPairs) EXPECT_TRUE(pairs.emplace(p.outer, p.inner).second) << p.outer << ", " << p.inner;
  EXPECT_EQ(pairs.size(), kScopes.size() * (kScopes.size() - 1));
}

}  // namespace
}  // namespace shunt
