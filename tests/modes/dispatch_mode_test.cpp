// Dispatch modes: what a handler sees, how modes nest, and that nothing of them is left behind.
#include <shunt/shunt.h>

#include "tests/modes/recorder.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <thread>

namespace shunt {
namespace {

using test::errorOf;
using test::Free;
using test::Recorder;
using testing::ElementsAre;
using testing::HasSubstr;

class DispatchModes : public testing::Test {
 protected:
  ~DispatchModes() override { EXPECT_EQ(active_dispatch_modes(), 0); }
  std::vector<std::string> log;
  Tensor x = randn({2, 3}), w = randn({4, 3}), b = randn({4});
};

TEST_F(DispatchModes, SeeOperatorsAsTheUserCallsThem) {
  Recorder mode(log);
  {
    DispatchModeGuard guard(mode);
    EXPECT_EQ(active_dispatch_modes(), 1);
    linear(x, w, b);
    empty({2});
    x.add_(1);
    ones({2}).sizes();
  }
  x.add(1);
  EXPECT_THAT(log, ElementsAre("aten::linear", "aten::empty.memory_format", "aten::add_.Scalar", "aten::ones"));
}

TEST_F(DispatchModes, SeeContiguousOfAContiguousTensor) {
  Recorder mode(log);
  {
    DispatchModeGuard guard(mode);
    EXPECT_TRUE(x.contiguous().is_same(x));
  }
  EXPECT_THAT(log, ElementsAre("aten::contiguous"));
}

TEST_F(DispatchModes, SeeItemAndMayAnswerIt) {
  const Tensor seven = full({1}, 7.0).requires_grad_();
  Recorder mode(log);
  Recorder liar(log, "", [](const OperatorHandle&, Stack* stack) { *stack = {IValue(Scalar(8))}; });
  {
    const DispatchModeGuard guard(mode);
    EXPECT_EQ(seven.item<float>(), 7);
    EXPECT_EQ(seven.item().toDouble(), 7);
    EXPECT_EQ(
        errorOf([&] { x.item(); }),
        "a Tensor with 6 elements cannot be converted to Scalar: item() of shape [2, 3] has no one number; select an "
        "element by its index, or reduce the tensor (sum(), mean())");
  }
  {
    const DispatchModeGuard guard(liar);
    EXPECT_EQ(seven.item<float>(), 8);
  }
  EXPECT_EQ(seven.item<float>(), 7);
  EXPECT_THAT(log, ElementsAre("aten::_local_scalar_dense", "aten::_local_scalar_dense", "aten::_local_scalar_dense"));
}

TEST_F(DispatchModes, GetEveryArgumentAndItsDefault) {
  Stack seen;
  Recorder mode(log, "", [&](const OperatorHandle& op, Stack* stack) {
    seen = *stack;
    EXPECT_EQ(stack->size(), op.schema().arguments().size());
    op.callBoxed(stack);
    EXPECT_EQ(stack->size(), op.schema().returns().size());
  });
  const DispatchModeGuard guard(mode);
  x.sum({-1});
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen[0].toTensor().is_same(x));
  EXPECT_THAT(seen[1].toIntVector(), ElementsAre(-1));
  EXPECT_FALSE(seen[2].toBool());
  EXPECT_TRUE(seen[3].isNone());
}

TEST_F(DispatchModes, ResultsAreThoseWithoutThem) {
  const auto run = [&] {
    Tensor y = x.clone().requires_grad_();
    Tensor z = (linear(y, w, b).relu() * 2).softmax(1);
    auto [values, indices] = z.max(1);
    Tensor out = empty({2});
    add_out(out, values.detach(), indices);
    (values.sum() + z.pow(2).mean()).backward();
    return std::vector<Tensor>{z.detach(), values.detach(), indices, out, y.grad()};
  };
  const auto plain = run();
  Recorder mode(log);
  std::vector<Tensor> under;
  {
    const DispatchModeGuard guard(mode);
    under = run();
  }
  ASSERT_EQ(plain.size(), under.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].eq(under[i]).all().item<bool>()) << i;
  EXPECT_THAT(log, testing::Contains("aten::threshold_backward")) << "backward runs under the mode too";
}

TEST_F(DispatchModes, InPlaceAndOutReturnTheGivenTensor) {
  Recorder mode(log);
  const DispatchModeGuard guard(mode);
  EXPECT_TRUE(x.mul_(2).is_same(x));
  Tensor out = empty({2, 3});
  EXPECT_TRUE(add_out(out, x, x).is_same(out));
}

TEST_F(DispatchModes, TheInnerOneIsAskedFirst) {
  Recorder outer(log, "outer "), inner(log, "inner ");
  const DispatchModeGuard a(outer), c(inner);
  x.relu();
  EXPECT_THAT(log, ElementsAre("inner aten::relu", "outer aten::relu"));
}

TEST_F(DispatchModes, AHandlersOwnCallsGoBelowIt) {
  Recorder outer(log, "outer ");
  Recorder inner(log, "inner ", [&](const OperatorHandle& op, Stack* stack) {
    EXPECT_EQ(active_dispatch_modes(), 1);
    EXPECT_FALSE(isnan(x).any().item<bool>());
    op.callBoxed(stack);
  });
  const DispatchModeGuard a(outer), c(inner);
  x.relu();
  EXPECT_THAT(log, ElementsAre("inner aten::relu", "outer aten::isnan", "outer aten::any",
                               "outer aten::_local_scalar_dense", "outer aten::relu"));
}

TEST_F(DispatchModes, AHandlerMayAnswerByItself) {
  Free<Recorder> mode(log, "", [&](const OperatorHandle&, Stack* stack) { *stack = {w}; });
  const DispatchModeGuard guard(mode);
  EXPECT_TRUE(x.exp().is_same(w));
}

// The next call may get the same stack's memory.
TEST_F(DispatchModes, AHandlerMayDoWithTheStackWhatItLikes) {
  const Tensor expected = linear(x, w, b);
  std::vector<Stack> arguments, returns;
  const Recorder::Handler handlers[] = {
      [&](const OperatorHandle& op, Stack* stack) {
        Stack taken = std::move(*stack);
        arguments.push_back(taken);
        op.callBoxed(&taken);
        *stack = std::move(taken);
      },
      [&](const OperatorHandle& op, Stack* stack) {
        op.callBoxed(stack);
        stack->reserve(1'000'000);
      },
      [&](const OperatorHandle& op, Stack* stack) {
        op.callBoxed(stack);
        returns.push_back(std::exchange(*stack, {}));
        *stack = returns.back();
        stack->shrink_to_fit();
      },
      [&](const OperatorHandle& op, Stack* stack) {
        x.exp();
        op.callBoxed(stack);
      },
      [&](const OperatorHandle&, Stack*) { throw std::runtime_error("with the arguments where they were"); },
  };
  const auto runEach = [&] {
    for (const Recorder::Handler& handler : handlers) {
      Recorder outer(log), mode(log, "", handler);
      const bool throws = &handler == &handlers[4];
      Tensor y;
      {
        const DispatchModeGuard a(outer), c(mode);
        EXPECT_EQ(errorOf<std::exception>([&] { y = linear(x, w, b); }),
                  throws ? "with the arguments where they were" : "no error");
      }
      if (!throws) EXPECT_TRUE(y.eq(expected).all().item<bool>()) << (&handler - handlers);
    }
    for (const auto* spare = detail::tls_state.spare_stacks; spare != nullptr; spare = spare->next)
      EXPECT_LE(spare->stack.capacity(), 64u) << "memory of one large call is not kept";
  };
  runEach();
  runEach();
  std::thread(runEach).join();
  ASSERT_EQ(arguments.size(), 3u);
  ASSERT_EQ(returns.size(), 3u);
  for (const Stack& s : arguments) EXPECT_TRUE(s.size() == 3 && s[1].toTensor().is_same(w));
  for (const Stack& s : returns) EXPECT_TRUE(s.size() == 1 && s[0].toTensor().eq(expected).all().item<bool>());
}

TEST_F(DispatchModes, AWrongAnswerIsAnError) {
  Recorder mode(log, "", [&](const OperatorHandle&, Stack* stack) { stack->clear(); });
  const DispatchModeGuard guard(mode);
  EXPECT_THAT(errorOf([&] { x.exp(); }), HasSubstr("aten::exp"));
  Recorder other(log, "", [&](const OperatorHandle&, Stack* stack) { *stack = {IValue(3)}; });
  const DispatchModeGuard inner(other);
  EXPECT_THAT(errorOf([&] { x.exp(); }), HasSubstr("aten::exp"));
}

TEST_F(DispatchModes, ATensorIsNoAnswerOfATypeWithoutValues) {
  Library library(Library::Kind::kDef, "mode_test");
  library.def("scheme_of(Tensor x) -> QScheme");
  Recorder mode(log, "", [&](const OperatorHandle&, Stack* stack) { *stack = {x}; });
  const DispatchModeGuard guard(mode);
  Stack stack{x};
  EXPECT_THAT(errorOf([&] { Dispatcher::singleton().findSchemaOrThrow("mode_test::scheme_of").callBoxed(stack); }),
              HasSubstr("left a value of another type as return 1: expected QScheme, got Tensor"));
}

TEST_F(DispatchModes, ExceptionsLeaveTheStackAsItWas) {
  Recorder outer(log, "outer ");
  bool fail = true;
  Recorder inner(log, "inner ", [&](const OperatorHandle& op, Stack* stack) {
    op.callBoxed(stack);
    if (fail) throw std::runtime_error("the handler's");
  });
  const DispatchModeGuard a(outer), c(inner);
  EXPECT_THROW(x.relu(), std::runtime_error);
  EXPECT_THAT(errorOf([&] { x.mm(x); }), HasSubstr("mm")) << "the operator's own error";
  EXPECT_EQ(active_dispatch_modes(), 2);
  fail = false;
  log.clear();
  x.relu();
  EXPECT_THAT(log, ElementsAre("inner aten::relu", "outer aten::relu"));
}

TEST_F(DispatchModes, ErrorsBelowThemAreThoseWithoutThem) {
  const auto call = [&] { x.mm(ones({7, 7})); };
  const std::string plain = errorOf(call);
  Recorder outer(log, ""), inner(log, "");
  const DispatchModeGuard a(outer), b(inner);
  EXPECT_EQ(errorOf(call), plain);
  EXPECT_THAT(plain, HasSubstr("(in aten::mm)"));
}

TEST_F(DispatchModes, EnteringItselfInItsHandlerIsAnError) {
  Recorder* self = nullptr;
  Recorder mode(log, "selfish", [&](const OperatorHandle& op, Stack* stack) {
    const DispatchModeGuard again(*self);
    op.callBoxed(stack);
  });
  self = &mode;
  const DispatchModeGuard guard(mode);
  EXPECT_THAT(errorOf([&] { x.relu(); }), HasSubstr("Recorder selfish is entered inside its own handler"));
  EXPECT_EQ(active_dispatch_modes(), 1);
}

TEST_F(DispatchModes, EnteringItselfByWayOfAnInnerOneIsAnErrorToo) {
  Recorder outer(log, "outer ");
  Recorder* middle_self = nullptr;
  Recorder inner(log, "inner ", [&](const OperatorHandle& op, Stack* stack) {
    const DispatchModeGuard again(*middle_self);
    op.callBoxed(stack);
  });
  Recorder middle(log, "middle ", [&](const OperatorHandle& op, Stack* stack) {
    const DispatchModeGuard deeper(inner);
    op.callBoxed(stack);
  });
  middle_self = &middle;
  const DispatchModeGuard a(outer), c(middle);
  EXPECT_THAT(errorOf([&] { x.relu(); }), HasSubstr("Recorder middle  is entered inside its own handler"));
}

TEST_F(DispatchModes, AHandlerMayEnterAnotherMode) {
  Recorder other(log, "other ");
  Recorder mode(log, "mode ", [&](const OperatorHandle& op, Stack* stack) {
    const DispatchModeGuard guard(other);
    op.callBoxed(stack);
  });
  const DispatchModeGuard guard(mode);
  x.relu();
  EXPECT_THAT(log, ElementsAre("mode aten::relu", "other aten::relu"));
}

TEST_F(DispatchModes, OneModeTwiceIsAskedTwice) {
  Recorder mode(log);
  const DispatchModeGuard a(mode), c(mode);
  x.relu();
  EXPECT_THAT(log, ElementsAre("aten::relu", "aten::relu"));
}

TEST_F(DispatchModes, AreAThreadsOwn) {
  Recorder mode(log);
  const DispatchModeGuard guard(mode);
  std::thread([&] {
    EXPECT_EQ(active_dispatch_modes(), 0);
    x.relu();
  }).join();
  EXPECT_TRUE(log.empty());
}

TEST_F(DispatchModes, StandBesideNoGradInferenceAndAutocast) {
  Recorder mode(log);
  const DispatchModeGuard guard(mode);
  {
    const NoGradGuard no_grad;
    x.relu();
  }
  {
    const InferenceMode inference;
    x.relu();
  }
  {
    const AutocastGuard autocast(kCPU);
    EXPECT_EQ(linear(x, w, b).dtype(), kBFloat16);
  }
  x.relu();
  EXPECT_THAT(log, ElementsAre("aten::relu", "aten::relu", "aten::linear", "aten::relu"));
}

TEST_F(DispatchModes, OperatorsOfUsersAndTheirPythonKernels) {
  Library def(Library::Kind::kFragment, "modes");
  def.def("twice(Tensor x) -> Tensor", [](const Tensor& t) { return t + t; });
  const auto twice = Dispatcher::singleton().findSchemaOrThrow("modes::twice", "").typed<Tensor(const Tensor&)>();
  Recorder mode(log);
  const DispatchModeGuard guard(mode);
  EXPECT_TRUE(twice.call(x).eq(x + x).all().item<bool>());
  EXPECT_THAT(log[0], "modes::twice");
  // A kernel for the key itself comes before the modes.
  Library own(Library::Kind::kImpl, "modes", DispatchKey::Python);
  own.impl("twice", [](const Tensor& t) { return t; });
  EXPECT_TRUE(twice.call(x).is_same(x));
}

TEST_F(DispatchModes, TheKeyWithoutAModeIsAClearError) {
  const IncludeDispatchKeyGuard guard(DispatchKey::Python);
  EXPECT_THAT(errorOf([&] { x.relu(); }), HasSubstr("no DispatchMode is active"));
}

}  // namespace
}  // namespace shunt
