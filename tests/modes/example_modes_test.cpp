// What the examples' modes count, by hand, and that a part of an example that throws costs only itself.
#include "examples/modes/flops.h"
#include "examples/modes/replacement.h"
#include "examples/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace examples {
namespace {

using shunt::ones;
using shunt::Tensor;
using testing::HasSubstr;
using testing::Not;

int64_t flopsOf(const std::function<void()>& run) {
  FlopMode mode;
  const shunt::DispatchModeGuard guard(mode);
  run();
  return mode.flops;
}

TEST(Flops, OfProducts) {
  const Tensor a = ones({2, 3}), b = ones({3, 5}), v = ones({3}), batch = ones({4, 2, 3}), right = ones({4, 3, 5});
  const Tensor bias = ones({5}), added = ones({4, 2, 5}), weight = ones({5, 3});
  Tensor out = shunt::empty({2, 5}), sum = ones({4, 2, 5});
  EXPECT_EQ(flopsOf([&] { a.mm(b); }), 2 * 5 * (2 * 3));
  EXPECT_EQ(flopsOf([&] { mm_out(out, a, b); }), 2 * 5 * (2 * 3));
  EXPECT_EQ(flopsOf([&] { a.mv(v); }), 2 * (2 * 3));
  EXPECT_EQ(flopsOf([&] { v.dot(v); }), 2 * 3);
  EXPECT_EQ(flopsOf([&] { batch.bmm(right); }), 4 * 2 * 5 * (2 * 3));
  EXPECT_EQ(flopsOf([&] { added.baddbmm(batch, right); }), 4 * 2 * 5 * (2 * 3 + 1));
  EXPECT_EQ(flopsOf([&] { sum.baddbmm_(batch, right); }), 4 * 2 * 5 * (2 * 3 + 1));
  EXPECT_EQ(flopsOf([&] { bias.addmm(a, b); }), 2 * 5 * (2 * 3 + 1));
  EXPECT_EQ(flopsOf([&] { a.matmul(b); }), 2 * 5 * (2 * 3));
  EXPECT_EQ(flopsOf([&] { linear(a, weight); }), 2 * 5 * (2 * 3));
  EXPECT_EQ(flopsOf([&] { linear(a, weight, bias); }), 2 * 5 * (2 * 3 + 1));
}

TEST(Flops, OfOtherOperators) {
  const Tensor a = ones({2, 3}), v = ones({3}), column = ones({4, 1});
  EXPECT_EQ(flopsOf([&] { a.exp(); }), 6);
  EXPECT_EQ(flopsOf([&] { a.sum(); }), 6);
  EXPECT_EQ(flopsOf([&] { a + v; }), 6);
  EXPECT_EQ(flopsOf([&] { column* v; }), 12) << "a broadcast makes more elements than either operand has";
  EXPECT_EQ(flopsOf([&] { a.t(); }), 0);
  EXPECT_EQ(flopsOf([&] { ones({5}); }), 0);
}

TEST(Replacement, TrainsAsTheNativeProductDoes) {
  const Tensor x = shunt::randn({4, 3}), start = shunt::randn({3, 5}), b = shunt::randn({5});
  for (const bool autocast : {false, true}) {
    const auto gradient = [&] {
      Tensor w = start.clone().requires_grad_(), y;
      {
        const shunt::AutocastGuard guard(shunt::kCPU, shunt::kBFloat16, autocast);
        y = x.mm(w);
        EXPECT_EQ(y.dtype(), autocast ? shunt::kBFloat16 : shunt::kFloat);
      }
      (y + b).sum().backward();
      return w.grad();
    };
    const Tensor native = gradient();
    OwnMatmulMode mode;
    const shunt::DispatchModeGuard guard(mode);
    const Tensor own = gradient();
    ASSERT_TRUE(own.defined());
    EXPECT_EQ(mode.replaced(), 2) << "forward and backward";
    EXPECT_LE(mode.largest_error(), 8);
    // Sums of four products, rounded to float or to bfloat16's 8 bits.
    EXPECT_LE(((own - native).abs().max() / native.abs().max()).item<float>(), autocast ? 0x1p-6f : 1e-5f);
  }
}

void fine() { std::cout << "fine\n"; }
void broken() { throw std::runtime_error("the reason"); }
void odd() { throw 7; }

struct Ended {
  int status;
  std::string out, err;
};

Ended runWith(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = runParts(static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()), "program",
                              {{"first", &fine}, {"second", &broken}, {"third", &odd}, {"last", &fine}});
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Parts, OneThatFailsIsReportedAndTheRestRuns) {
  const Ended all = runWith({});
  EXPECT_EQ(all.status, 1);
  EXPECT_EQ(all.out, "-- first\nfine\n-- second\n-- third\n-- last\nfine\n");
  EXPECT_THAT(all.err, HasSubstr("-- second failed: the reason\n"));
  EXPECT_THAT(all.err, HasSubstr("-- third failed: "));
  EXPECT_THAT(all.err, HasSubstr("2 of 4 parts of program failed\n"));
}

TEST(Parts, TheStatusIsThatOfTheNamedPart) {
  EXPECT_EQ(runWith({"last"}).status, 0);
  EXPECT_EQ(runWith({"second"}).status, 1);
  const Ended unknown = runWith({"nothing"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("usage: program [first|second|third|last]"));
  EXPECT_THAT(unknown.out, Not(HasSubstr("--")));
}

}  // namespace
}  // namespace examples
