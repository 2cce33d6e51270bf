// What trace() refuses, and that whatever ends the function leaves the thread as it was.
#include <shunt/trace/trace.h>

#include "tests/support/error_of.h"

#include <shunt/interpose/dispatch_mode.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace shunt {
namespace {

using test::errorOf;
using testing::AllOf;
using testing::HasSubstr;

template <class F>
std::string traceError(F&& f) {
  return errorOf([&] { trace(f, ones({2})); });
}

TEST(TraceErrors, NumbersOfTracedTensors) {
  const Tensor captured = ones({});
  const auto names_item = AllOf(HasSubstr("aten::_local_scalar_dense"), HasSubstr("records operators, not numbers"),
                                HasSubstr("called from"), HasSubstr("addr2line"));
  EXPECT_THAT(traceError([](const Tensor& x) { return x * x.sum().item(); }), names_item);
  EXPECT_THAT(traceError([](const Tensor& x) { return x.sum().item<float>() > 0 ? x : x; }), names_item);
  EXPECT_THAT(traceError([&](const Tensor& x) { return x * captured.item(); }), names_item);
  EXPECT_THAT(traceError([](const Tensor& x) {
                x.data_ptr();
                return x;
              }),
              AllOf(HasSubstr("cannot access data pointer of a traced tensor of shape [2]"),
                    HasSubstr("outside of the traced function (called from ")));
}

TEST(TraceErrors, SizesThatDependOnElements) {
  const auto names = [](const char* op) {
    return AllOf(HasSubstr(op), HasSubstr("sizes of its result depend on elements"));
  };
  EXPECT_THAT(traceError([](const Tensor& x) { return x.nonzero(); }), names("aten::nonzero"));
  EXPECT_THAT(traceError([](const Tensor& x) { return where(x)[0]; }), names("aten::where"));
  EXPECT_THAT(traceError([](const Tensor& x) { return x.masked_select(x.gt(0)); }), names("aten::"));
  const auto by_mask = [](const Tensor& x) { return x.index({x.gt(0)}); };
  EXPECT_THAT(errorOf([&] { trace(by_mask, ones({2}), {.fake = true}); }), names("a boolean mask makes the"));
}

TEST(TraceErrors, AnOperatorThatReturnsANumber) {
  Library m(Library::Kind::kDef, "tracenum");
  m.def("count(Tensor self) -> int");
  m.impl("count", DispatchKey::CPU, [](const Tensor& self) { return self.numel(); });
  const auto count = Dispatcher::singleton().findSchemaOrThrow("tracenum::count").typed<int64_t(const Tensor&)>();
  EXPECT_THAT(traceError([&](const Tensor& x) { return x * count.call(x); }),
              AllOf(HasSubstr("tracenum::count"), HasSubstr("it returns a number")));
}

struct Nothing : DispatchMode {
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
  std::string name() const override { return "Nothing"; }
};

TEST(TraceErrors, AModeEnteredInside) {
  Nothing mode;
  EXPECT_THAT(traceError([&](const Tensor& x) {
                const DispatchModeGuard on(mode);
                return x + 1;
              }),
              AllOf(HasSubstr("Nothing"), HasSubstr("inside of a function that trace() records")));
  EXPECT_EQ(active_dispatch_modes(), 0);
}

TEST(TraceErrors, ATraceInATrace) {
  EXPECT_THAT(traceError([](const Tensor& x) {
                trace([](const Tensor& y) { return y; }, x);
                return x;
              }),
              HasSubstr("records already"));
}

TEST(TraceErrors, AWrapperThatEscapedIsDead) {
  Tensor escaped;
  trace([&](const Tensor& x) { return escaped = x + 1; }, ones({2}));
  const auto dead = AllOf(HasSubstr("argument 'self' is a traced tensor of shape [2]"), HasSubstr("it is dead"));
  EXPECT_THAT(errorOf([&] { escaped.relu(); }), AllOf(HasSubstr("aten::relu"), dead));
  EXPECT_THAT(errorOf([&] { escaped.sum().item(); }), dead);
  EXPECT_THAT(errorOf([&] { escaped[0]; }), dead);
  EXPECT_THAT(errorOf([&] { escaped.data_ptr(); }), HasSubstr("a traced tensor"));
  EXPECT_THAT(traceError([&](const Tensor& x) { return x + escaped; }), HasSubstr("belongs to another trace()"));
}

TEST(TraceErrors, AnotherThreadHasNoTrace) {
  std::string error;
  trace(
      [&](const Tensor& x) {
        std::thread([&] { error = errorOf([&] { x.relu(); }); }).join();
        return x;
      },
      ones({2}));
  EXPECT_THAT(error, AllOf(HasSubstr("aten::relu"), HasSubstr("runs on another thread")));
}

TEST(TraceErrors, TheKeyWithoutATrace) {
  const IncludeDispatchKeyGuard on(DispatchKey::Tracer);
  EXPECT_THAT(errorOf([] { ones({2}); }), HasSubstr("no trace() runs on this thread"));
}

TEST(TraceErrors, SetData) {
  const Tensor w = ones({2});
  EXPECT_THAT(traceError([&](const Tensor& x) {
                w.set_data(zeros({2}));
                return x;
              }),
              HasSubstr("set_data"));
}

TEST(TraceErrors, WhatTheFunctionThrowsLeavesNothingBehind) {
  const uint64_t included = tls_included().raw(), excluded = tls_excluded().raw();
  Tensor w = ones({2}).requires_grad_();
  for (const bool fake : {false, true}) {
    const std::string error = errorOf([&] {
      trace(
          [&](const Tensor& x) -> Tensor {
            const NoGradGuard no_grad;
            const AutocastGuard autocast(kCPU);
            w.mutable_grad() = x * 2;  // a wrapper in a place that lasts
            throw Error("from inside");
          },
          ones({2}), {.fake = fake});
    });
    EXPECT_EQ(error, "from inside");
    EXPECT_EQ(tls_included().raw(), included);
    EXPECT_EQ(tls_excluded().raw(), excluded);
  }
  EXPECT_FALSE(is_traced(w.grad()));
  EXPECT_EQ((w.grad() + 1).sum().item<float>(), 6);
  EXPECT_EQ(trace([](const Tensor& x) { return x.relu(); }, ones({2})).nodes().size(), 1u);
}

TEST(TraceErrors, AnErrorThatTheFunctionCatchesIsNoNode) {
  const Graph g = trace(
      [](const Tensor& x) {
        EXPECT_NE(errorOf([&] { x.mm(x); }), "no error");
        return x.relu();
      },
      ones({2}));
  EXPECT_EQ(g.nodes().size(), 1u) << g.print();
}

}  // namespace
}  // namespace shunt
