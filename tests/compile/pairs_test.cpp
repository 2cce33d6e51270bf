// Every two of vmap, grad, trace, compile, functionalize, fake tensors, autocast, no_grad, inference mode, dispatch
// modes, subclasses, one around the other and the other way round: the values are those without what changes none, and
// where a pair can't be, the error says so. kErrors is the table of what can't.
#include "tests/support/error_of.h"
#include "tests/support/wrapper.h"

#include <shunt/shunt.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace shunt::test {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

struct PassOn : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override {
    ++calls;
    op.callBoxed(stack);
  }
  static inline int calls = 0;
};
struct PassOnAtKernel : PassOn {
  Level level() const override { return Level::kKernel; }
};

template <class Guard, class... Args>
Function guarded(const Function& f, Args... args) {
  return [=](const Tensor& x) {
    const Guard guard(args...);
    return f(x);
  };
}

template <class Mode>
Function underMode(const Function& f) {
  return [f](const Tensor& x) {
    Mode mode;
    const DispatchModeGuard guard(mode);
    return f(x);
  };
}

struct Transform {
  const char* name;
  Function (*apply)(const Function&);
  Function (*plain)(const Function&);  // the same values, by simpler means
};

Function itself(const Function& f) { return f; }
Function vmapOf(const Function& f) { return vmap(f); }
// By a loop over the samples.
Function looped(const Function& f) {
  return [f](const Tensor& x) {
    std::vector<Tensor> all;
    for (int64_t i = 0; i < x.size(0); ++i) all.push_back(f(x.select(0, i)));
    return stack(all);
  };
}
Function gradOf(const Function& f) {
  return grad([f](const Tensor& x) { return f(x).sum(); });
}
// By autograd, with settings of its own, as a grad's function has them.
Function differentiated(const Function& f) {
  return [f](const Tensor& x) {
    const InferenceMode normal(false);
    const AutoGradMode on(true);
    const Tensor leaf = x.requires_grad() ? x : x.clone().requires_grad_();
    const Tensor y = f(leaf).sum();
    return y.requires_grad() ? autograd::grad({y}, {leaf}, {}, {}, true)[0] : zeros_like(x);
  };
}
Function traceOf(const Function& f) {
  return [f](const Tensor& x) { return trace(f, x).run({x})[0]; };
}
std::function<uint64_t()> hits_of_last;  // calls of the function that compile() made last which ran a graph
Function compileOf(const Function& f) {
  const auto fast = compile(f);
  hits_of_last = [fast] { return fast.counts().hits; };
  return [fast](const Tensor& x) { return fast(x); };
}
Function functionalizeOf(const Function& f) {
  return [f](const Tensor& x) { return functionalize(f)(x); };
}
Function autocastOf(const Function& f) { return guarded<AutocastGuard>(f, kCPU, kBFloat16); }
Function noGradOf(const Function& f) { return guarded<NoGradGuard>(f); }
Function inferenceOf(const Function& f) { return guarded<InferenceMode>(f); }
Function subclassOf(const Function& f) {
  return [f](const Tensor& x) { return unwrap<Wrapper>(f(wrap<Wrapper>(x))); };
}
Function fakeOf(const Function& f) {
  return [f](const Tensor& x) { return zeros_like(x).copy_(x).mul_(0) + static_cast<double>(f(to_fake(x)).dim()); };
}
Function dimOf(const Function& f) {
  return [f](const Tensor& x) { return zeros_like(x).copy_(x).mul_(0) + static_cast<double>(f(x).dim()); };
}

const Transform kTransforms[] = {
    {"vmap", vmapOf, looped},
    {"grad", gradOf, differentiated},
    {"trace", traceOf, itself},
    {"compile", compileOf, itself},
    {"functionalize", functionalizeOf, itself},
    {"fake", fakeOf, dimOf},
    {"autocast", autocastOf, autocastOf},
    {"no_grad", noGradOf, noGradOf},
    {"inference", inferenceOf, inferenceOf},
    {"mode", underMode<PassOn>, itself},
    {"kernel_mode", underMode<PassOnAtKernel>, itself},
    {"subclass", subclassOf, itself},
};

/// What is an error, outer / inner: a part of it.
const std::map<std::string, const char*> kErrors = {
    {"vmap / trace", "called inside of a function that vmap or grad runs"},
    {"grad / trace", "called inside of a function that vmap or grad runs"},
    {"trace / trace", "records already"},
    {"trace / fake", "unwrap it first"},
    {"trace / mode", "a graph holds operators, not modes"},
    {"trace / kernel_mode", "a graph holds operators, not modes"},
    {"functionalize / trace", "called under a FunctionalizeGuard"},
    {"functionalize / fake", "unwrap it first"},
    {"subclass / fake", "unwrap it first"},
};
/// What a compiled function can't have inside, and what runs the function where it stands outside of a compiled one.
const std::set<std::string> kNoGraphOf = {"trace", "fake", "mode", "kernel_mode"};
const std::set<std::string> kNoGraphInside = {"vmap", "grad", "trace",       "compile", "functionalize",
                                              "fake", "mode", "kernel_mode", "subclass"};
constexpr int kCalls = 4;

// x of one sample or of several: of a size that doesn't change by any of them.
Tensor base(const Tensor& x) { return (x * x).sin() + x.exp() * 0.5; }

double distance(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return 1e9;
  const NoGradGuard no_grad;
  return a.numel() == 0 ? 0 : (a.detach() - b.detach()).abs().max().to(kDouble).item<double>();
}

TEST(Pairs, BothOrders) {
  const Tensor x = linspace(-1, 1, 6).reshape({3, 2});
  std::string table;
  for (const Transform& outer : kTransforms)
    for (const Transform& inner : kTransforms) {
      const std::string name = std::string(outer.name) + " / " + inner.name;
      SCOPED_TRACE(name);
      const Function f = outer.apply(inner.apply(base));
      Tensor expected;
      const std::string plain_error = errorOf([&] { expected = outer.plain(inner.plain(base))(x); });
      const auto known = kErrors.find(name);
      for (int call = 0; call < kCalls; ++call) {
        Tensor got;
        const std::string error = errorOf([&] { got = f(x); });
        if (known != kErrors.end()) {
          EXPECT_THAT(error, testing::HasSubstr(known->second));
          continue;
        }
        if (error != "no error" || plain_error != "no error") {
          ADD_FAILURE() << error << "\nwithout it: " << plain_error;
          break;
        }
        EXPECT_LT(distance(got, expected), 1e-6) << "call " << call << '\n' << got << expected;
      }
      const bool outside = std::string(outer.name) == "compile", inside = std::string(inner.name) == "compile";
      if (outside) EXPECT_EQ(hits_of_last() > 0, !kNoGraphOf.contains(inner.name)) << hits_of_last();
      if (inside && !outside) EXPECT_EQ(hits_of_last() > 0, !kNoGraphInside.contains(outer.name)) << hits_of_last();
      EXPECT_TRUE(GradMode::is_enabled() && !InferenceMode::is_enabled());
    }
}

}  // namespace
}  // namespace shunt::test
