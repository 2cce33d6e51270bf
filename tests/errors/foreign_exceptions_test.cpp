// What programs throw through Shunt comes out as it was thrown: Note [Foreign exceptions] (core/interrupt.h).
#include <shunt/autograd/anomaly_mode.h>
#include <shunt/autograd/saved_tensor_hooks.h>
#include <shunt/core/interrupt.h>
#include <shunt/interpose/dispatch_mode.h>
#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>
#include <shunt/trace/trace.h>
#include <shunt/transforms/autocast.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>
#include <shunt/transforms/grad_transforms.h>
#include <shunt/transforms/vmap.h>

#include <gtest/gtest.h>

#include <exception>
#include <thread>

namespace shunt::test {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;

// As a binding to another language makes them: Shunt knows neither class.
struct Foreign : std::exception {
  explicit Foreign(int number) : number(number) {}
  const char* what() const noexcept override { return "foreign"; }
  int number;
};
struct ForeignInterrupt final : Foreign, Interrupt {
  using Foreign::Foreign;
};
struct NoException {
  int number;
};

enum class Kind { kException, kInterrupt, kNoException };

// The address of what was thrown last: the object that is caught has to be that one.
const void* thrown = nullptr;
int throws = 0;
Kind kind = Kind::kException;

template <class E>
[[noreturn]] void throwOne() {
  try {
    throw E{++throws};
  } catch (E& e) {
    thrown = &e;
    throw;
  }
}

[[noreturn]] void throwForeign() {
  if (kind == Kind::kInterrupt) throwOne<ForeignInterrupt>();
  if (kind == Kind::kNoException) throwOne<NoException>();
  throwOne<Foreign>();
}

class ForeignExceptions : public testing::TestWithParam<Kind> {
 protected:
  ForeignExceptions() {
    kind = GetParam();
    throws = 0;
    library_.def("throws(Tensor x) -> Tensor");
    library_.impl("throws", DispatchKey::CPU, [this](const Tensor& t) {
      if (on) throwForeign();
      return t.clone();
    });
    library_.impl("throws", DispatchKey::Meta, [](const Tensor& t) { return empty_like(t); });
    library_.def("throws_boxed(Tensor x) -> Tensor");
    library_.impl("throws_boxed", DispatchKey::CPU, CppFunction::makeFromBoxedFunction<&boxedKernel>());
  }

  static void boxedKernel(const OperatorHandle&, Stack*) { throwForeign(); }

  /// Runs `f`, which has to let out what was thrown last.
  template <class F>
  void expectThrows(F&& f, int times = 1) {
    const int before = throws;
    const auto check = [&](const void* caught, int number) {
      EXPECT_EQ(caught, thrown);
      EXPECT_EQ(number, throws);
      EXPECT_EQ(throws - before, times);
    };
    try {
      f();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      ADD_FAILURE() << "an error of Shunt's: " << e.what();
    } catch (const ForeignInterrupt& e) {
      EXPECT_EQ(GetParam(), Kind::kInterrupt);
      check(&e, e.number);
    } catch (const Foreign& e) {
      EXPECT_EQ(GetParam(), Kind::kException);
      EXPECT_EQ(typeid(e), typeid(Foreign));
      check(&e, e.number);
    } catch (const NoException& e) {
      EXPECT_EQ(GetParam(), Kind::kNoException);
      check(&e, e.number);
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    // The thread is as it was.
    EXPECT_TRUE(GradMode::is_enabled());
    EXPECT_EQ(active_dispatch_modes(), 0);
    EXPECT_EQ((ones({2}) + 1).sum().item().toDouble(), 4);
  }

  static Tensor call(const char* name, const Tensor& t) {
    return Dispatcher::singleton().findSchemaOrThrow(name).typed<Tensor(const Tensor&)>().call(t);
  }
  static Tensor op(const Tensor& t) { return call("foreign::throws", t); }

  const Tensor x = ones({2, 3});
  Tensor w() const { return ones({2, 3}).requires_grad_(); }
  bool on = true;

 private:
  Library library_{Library::Kind::kFragment, "foreign"};
};

TEST_P(ForeignExceptions, FromAKernel) {
  expectThrows([&] { op(x); });
  expectThrows([&] { op(w()); });
  expectThrows([&] { call("foreign::throws_boxed", x); });
  expectThrows([&] {
    Stack stack = {x};
    Dispatcher::singleton().findSchemaOrThrow("foreign::throws").callBoxed(&stack);
  });
}

// With SHUNT_JIT_SYNC and a low threshold this is compiled: an overridden kernel is called by the thunk.
TEST_P(ForeignExceptions, FromAKernelThatAThunkCalls) {
  int64_t calls = 0;
  Library mine(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  on = false;
  mine.impl("erf", [&](const Tensor& t) {
    ++calls;
    if (on) throwForeign();
    return t.clone();
  });
  const Tensor t = w();
  for (int i = 0; i < 100; ++i) t.erf();
  on = true;
  const uint64_t before = jit::calls_in_thunks();
  expectThrows([&] { t.erf(); });
  EXPECT_EQ(calls, 101);
  on = false;
  t.erf();
  EXPECT_EQ(jit::calls_in_thunks() > before, jit::stats().available);
  EXPECT_TRUE(t.erf().requires_grad());
}

TEST_P(ForeignExceptions, FromModes) {
  struct Throwing : DispatchMode {
    explicit Throwing(Level level) : level_(level) {}
    void handle(const OperatorHandle&, Stack*) override { throwForeign(); }
    Level level() const override { return level_; }
    const Level level_;
  };
  struct Passing : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  };
  for (const auto level : {DispatchMode::Level::kCall, DispatchMode::Level::kKernel})
    expectThrows([&] {
      Throwing mode(level);
      Passing passing;
      const DispatchModeGuard guard(mode), inner(passing);
      x + 1;
    });
}

TEST_P(ForeignExceptions, FromSubclasses) {
  struct Throwing : TensorSubclass {
    using TensorSubclass::TensorSubclass;
    void handle(const OperatorHandle&, Stack*) override { throwForeign(); }
  };
  expectThrows([&] { wrap<Throwing>(x).mul(2); });
  expectThrows([&] { cat({x, wrap<Throwing>(w())}); });
}

struct ThrowsForward : autograd::Function<ThrowsForward> {
  static Tensor forward(AutogradContext*, const Tensor&) { throwForeign(); }
  static variable_list backward(AutogradContext*, variable_list grads) { return grads; }
};
struct ThrowsBackward : autograd::Function<ThrowsBackward> {
  static Tensor forward(AutogradContext*, const Tensor& t) { return t.mul(2); }
  static variable_list backward(AutogradContext*, variable_list) { throwForeign(); }
};

TEST_P(ForeignExceptions, FromCustomFunctions) {
  expectThrows([&] { ThrowsForward::apply(w()); });
  const Tensor y = ThrowsBackward::apply(w()).exp().sum();
  expectThrows([&] { y.backward({}, true); });
  const Tensor t = w();
  expectThrows([&] { autograd::grad({ThrowsBackward::apply(t).sum()}, {t}, {}, true, true); });
  const autograd::DetectAnomalyGuard guard;
  const LogSink sink = set_log_sink([](LogLevel, const char*) {});
  expectThrows([&] { y.backward({}, true); });
  set_log_sink(sink);
}

TEST_P(ForeignExceptions, FromBackwardOnAnotherThread) {
  const Tensor y = ThrowsBackward::apply(w()).sum();
  expectThrows([&] {
    std::exception_ptr caught;
    std::thread([&] {
      try {
        y.backward();
      } catch (...) {
        caught = std::current_exception();
      }
    }).join();
    std::rethrow_exception(caught);
  });
}

TEST_P(ForeignExceptions, FromHooks) {
  const auto of = [&](auto&& add) {
    const Tensor t = w(), h = t.mul(2);
    add(t, h);
    expectThrows([&] { h.sum().backward(); });
  };
  const auto one = [](const Tensor&) -> Tensor { throwForeign(); };
  of([&](const Tensor& t, const Tensor&) { t.register_hook(one); });
  of([&](const Tensor&, const Tensor& h) { h.register_hook(one); });
  of([&](const Tensor& t, const Tensor&) {
    t.register_post_accumulate_grad_hook([](const Tensor&) { throwForeign(); });
  });
  of([&](const Tensor&, const Tensor& h) {
    h.grad_fn()->add_pre_hook([](const variable_list&) -> variable_list { throwForeign(); });
  });
  of([&](const Tensor&, const Tensor& h) {
    h.grad_fn()->add_post_hook([](const variable_list&, const variable_list&) -> variable_list { throwForeign(); });
  });
}

TEST_P(ForeignExceptions, FromSavedTensorHooks) {
  const auto pack = [](const Tensor& t) -> std::shared_ptr<void> { return std::make_shared<Tensor>(t.detach()); };
  const auto unpack = [](const std::shared_ptr<void>&) -> Tensor { throwForeign(); };
  expectThrows([&] {
    const autograd::SavedTensorHooksGuard guard(
        {[](const Tensor&) -> std::shared_ptr<void> { throwForeign(); }, unpack});
    w().exp();
  });
  Tensor y;
  {
    const autograd::SavedTensorHooksGuard guard({pack, unpack});
    y = w().exp().sum();
  }
  expectThrows([&] { y.backward(); });
}

TEST_P(ForeignExceptions, FromFunctionsThatAreTransformed) {
  const auto throwing = [](const Tensor&) -> Tensor { throwForeign(); };
  expectThrows([&] { vmap(throwing)(x); });
  expectThrows([&] { vmap([&](const Tensor& t) { return op(t); })(x); });
  expectThrows([&] { grad(throwing)(x); });
  expectThrows([&] { vmap(grad(throwing))(x); });
  expectThrows([&] { grad([&](const Tensor& t) { return ThrowsBackward::apply(t).sum(); })(x); });
  expectThrows([&] { trace(throwing, std::tuple(x)); });
  expectThrows([&] { functionalize(throwing)(x); });
}

TEST_P(ForeignExceptions, FromAFunctionThatIsCompiled) {
  auto throwing = compile([&](const Tensor& t) {
    t.exp();
    throwForeign();
    return t;
  });
  expectThrows([&] { throwing(x); });
  // Recording is an attempt: the function runs again, and what the caller gets is from there.
  expectThrows([&] { throwing(x); }, GetParam() == Kind::kInterrupt ? 1 : 2);
}

TEST_P(ForeignExceptions, FromAGraph) {
  on = false;
  auto compiled = compile([&](const Tensor& t) { return op(t.exp()) * 2; });
  for (int i = 0; i < 5; ++i) compiled(x);
  ASSERT_GT(compiled.counts().hits, 0u);
  on = true;
  expectThrows([&] { compiled(x); });
  on = false;
  EXPECT_TRUE(compiled(x).equal(x.exp() * 2));
}

// What such a graph throws may be what the function catches: the function runs.
TEST_P(ForeignExceptions, FromAGraphThatHasNoEffects) {
  Library mine(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  mine.impl("erf", [&](const Tensor& t) {
    if (on) throwForeign();
    return t.clone();
  });
  on = false;
  auto compiled = compile([&](const Tensor& t) { return t.exp().erf() * 2; });
  for (int i = 0; i < 5; ++i) compiled(x);
  ASSERT_GT(compiled.counts().hits, 0u);
  on = true;
  expectThrows([&] { compiled(x); }, GetParam() == Kind::kException ? 2 : 1);
  on = false;
}

TEST_P(ForeignExceptions, FromAHookInACompiledBackward) {
  auto compiled = compile([](const Tensor& t) { return (t * t).exp(); });
  for (int i = 0; i < 5; ++i) compiled(w()).sum().backward();
  const Tensor t = w();
  const Tensor y = compiled(t);
  y.register_hook([](const Tensor&) -> Tensor { throwForeign(); });
  expectThrows([&] { y.sum().backward(); });
}

TEST_P(ForeignExceptions, FromACustomFunctionThatIsCompiled) {
  auto compiled = compile([](const Tensor& t) { return ThrowsBackward::apply(t * 3).sum(); });
  Tensor y;
  for (int i = 0; i < 5; ++i) try {
      y = compiled(w());
    } catch (const ForeignInterrupt&) {
      EXPECT_EQ(GetParam(), Kind::kInterrupt);
      y = ThrowsBackward::apply(w()).sum();
    }
  expectThrows([&] { y.backward(); });
}

TEST_P(ForeignExceptions, UnderModesAndFakeTensors) {
  // What the operator would return is tried out on stand-ins, for which its kernel throws.
  Library meta(Library::Kind::kFragment, "foreign");
  meta.def("only_meta(Tensor x) -> Tensor");
  meta.impl("only_meta", DispatchKey::Meta, [](const Tensor&) -> Tensor { throwForeign(); });
  expectThrows([&] { call("foreign::only_meta", to_fake(x)); });
  struct AnswersMeta : DispatchMode {
    void handle(const OperatorHandle&, Stack* stack) override { *stack = {stack->at(0).toTensor()}; }
  } mode;
  const auto under = [&] {
    const DispatchModeGuard guard(mode);
    call("foreign::only_meta", x);
  };
  if (GetParam() == Kind::kInterrupt)
    expectThrows(under);
  else
    EXPECT_NO_THROW(under());
}

INSTANTIATE_TEST_SUITE_P(All, ForeignExceptions,
                         testing::Values(Kind::kException, Kind::kInterrupt, Kind::kNoException), [](const auto& info) {
                           return info.param == Kind::kException   ? "Exception"
                                  : info.param == Kind::kInterrupt ? "Interrupt"
                                                                   : "NoException";
                         });

}  // namespace
}  // namespace shunt::test
