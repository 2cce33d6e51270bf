// Boxing in both directions, for every argument and return type.
#include "tests/dispatch/round_trip.h"

namespace shunt {
namespace {

using namespace test;

TEST(Boxing, ScalarsStringsAndEnumerations) {
  RoundTrip rt(
      "scalars(Tensor x, int i, float f, bool b, str s, Scalar a, Scalar c, Scalar d, ScalarType t, Device dev, Layout "
      "l, MemoryFormat m) -> str",
      [](const Tensor&, int64_t i, double f, bool b, std::string_view s, const Scalar& a, const Scalar& c,
         const Scalar& d, ScalarType t, Device dev, Layout l, MemoryFormat m) -> std::string {
        return detail::str(i, " ", f, " ", b, " ", s, " ", a.toDouble(), a.isFloatingPoint(), " ", c.toLong(),
                           c.isIntegral(false), " ", d.toBool(), d.isBoolean(), " ", t, " ", dev, " ", l, " ", m);
      });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  EXPECT_EQ(rt.typed().call(cpuTensor(), -5, 0.25, true, "text", 1.5, 7, true, kBFloat16, Device("cuda:1"), kStrided,
                            MemoryFormat::ChannelsLast),
            "-5 0.25 1 text 1.51 71 11 BFloat16 cuda:1 Strided ChannelsLast");
  EXPECT_EQ(rt.boxed_calls, 1);
}

TEST(Boxing, Optionals) {
  RoundTrip rt(
      "optionals(Tensor x, Tensor? t, int? i, float? f, bool? b, str? s, Scalar? a, ScalarType? d, int[]? l, "
      "Generator? g) -> int",
      [](const Tensor&, const std::optional<Tensor>& t, std::optional<int64_t> i, std::optional<double> f,
         std::optional<bool> b, std::optional<std::string_view> s, const std::optional<Scalar>& a,
         std::optional<ScalarType> d, OptionalIntArrayRef l, std::optional<Generator> g) -> int64_t {
        return (t.has_value() << 0) | (i.has_value() << 1) | (f.has_value() << 2) | (b.has_value() << 3) |
               (s.has_value() << 4) | (a.has_value() << 5) | (d.has_value() << 6) | (l.has_value() << 7) |
               (g.has_value() << 8);
      });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const std::nullopt_t no = std::nullopt;
  EXPECT_EQ(rt.typed().call(cpuTensor(), no, no, no, no, no, no, no, no, no), 0);
  EXPECT_EQ(rt.typed().call(cpuTensor(), cpuTensor(), 1, 2.0, false, "", Scalar(1), kInt, IntArrayRef({1, 2}),
                            make_generator()),
            511);
}

TEST(Boxing, Lists) {
  RoundTrip rt("lists(Tensor x, int[] i, float[] f, bool[3] b, Tensor[] t, Tensor?[] o, Scalar[] s) -> int[]",
               [](const Tensor&, IntArrayRef i, ArrayRef<double> f, std::array<bool, 3> b, TensorList t,
                  TensorOptList o, ArrayRef<Scalar> s) -> std::vector<int64_t> {
                 return {static_cast<int64_t>(i.size()),
                         i.empty() ? -1 : i.back(),
                         static_cast<int64_t>(4 * f.back()),
                         b[0] + 2 * b[1] + 4 * b[2],
                         static_cast<int64_t>(t.size()),
                         o[0].has_value() + 2 * o[1].has_value(),
                         s[1].toLong()};
               });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const Tensor a = cpuTensor();
  const std::optional<Tensor> some[] = {std::nullopt, a};
  const Scalar scalars[] = {1.5, 9};
  EXPECT_THAT(rt.typed().call(a, {3, 4}, {0.5, 0.25}, {true, false, true}, {a, a, a}, some, scalars),
              testing::ElementsAre(2, 4, 1, 5, 3, 2, 9));
}

TEST(Boxing, InPlaceAndOutReturnTheCallersOwnTensors) {
  RoundTrip inplace("touch_(Tensor(a!) self, Tensor other) -> Tensor(a!)",
                    [](Tensor& self, const Tensor&) -> Tensor& { return self; });
  RoundTrip out(
      "split.out(Tensor self, *, Tensor(a!) first, Tensor(b!) second) -> (Tensor(a!), Tensor(b!))",
      [](const Tensor&, Tensor& first, Tensor& second) -> std::tuple<Tensor&, Tensor&> { return {first, second}; });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  Tensor a = cpuTensor(), b = cpuTensor(), c = cpuTensor();
  EXPECT_EQ(&inplace.typed().call(a, b), &a);
  auto [first, second] = out.typed().call(a, b, c);
  EXPECT_EQ(&first, &b);
  EXPECT_EQ(&second, &c);
  EXPECT_EQ(inplace.boxed_calls + out.boxed_calls, 2);
}

TEST(Boxing, ABoxedInPlaceKernelMustReturnItsArgument) {
  Library def = fragment("box");
  def.def("foreign_(Tensor(a!) self) -> Tensor(a!)");
  def.impl("foreign_", DispatchKey::CPU, CppFunction::makeFromBoxed([](const OperatorHandle&, Stack* stack) {
             stack->back() = IValue(cpuTensor());
           }));
  Tensor a = cpuTensor();
  EXPECT_THAT(errorOf([&] { findOp("box::foreign_").typed<Tensor&(Tensor&)>().call(a); }),
              testing::HasSubstr("box::foreign_"));
}

TEST(Boxing, SeveralReturnsAndNone) {
  RoundTrip many("many(Tensor x) -> (Tensor, int, float[], Tensor[])", [](const Tensor& x) {
    return std::tuple<Tensor, int64_t, std::vector<double>, std::vector<Tensor>>(x, 4, {1.0, 2.0}, {x, x});
  });
  int ran = 0;
  RoundTrip none("none(Tensor x) -> ()", [&ran](const Tensor&) -> void { ++ran; });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const Tensor x = cpuTensor();
  const auto [t, i, d, l] = many.typed().call(x);
  EXPECT_TRUE(t.is_same(x));
  EXPECT_EQ(i, 4);
  EXPECT_EQ(d, (std::vector<double>{1, 2}));
  EXPECT_EQ(l.size(), 2u);
  none.typed().call(x);
  EXPECT_EQ(ran, 1);
}

TEST(Boxing, ConstReturnsAndReferencesToArguments) {
  RoundTrip values("values(Tensor x) -> (Tensor, int)",
                   [](const Tensor& x) { return std::tuple<const Tensor, const int64_t>(x, 4); });
  RoundTrip references("references(Tensor x, Tensor y) -> (Tensor, Tensor)",
                       [](const Tensor& x, const Tensor& y) { return std::tuple<const Tensor&, const Tensor&>(y, x); });
  IncludeDispatchKeyGuard boxed(DispatchKey::Tracer);
  const Tensor x = cpuTensor(), y = cpuTensor();
  const auto [t, i] = values.typed().call(x);
  EXPECT_TRUE(t.is_same(x));
  EXPECT_EQ(i, 4);
  const auto [first, second] = references.typed().call(x, y);
  EXPECT_EQ(&first, &y);
  EXPECT_EQ(&second, &x);
  EXPECT_EQ(values.boxed_calls + references.boxed_calls, 2);
}

TEST(Boxing, CallBoxedFillsSizedListsFromOneInt) {
  Library def = fragment("box");
  def.def("sized(Tensor x, int[2] k=1, int[] l=[]) -> int[]", [](const Tensor&, IntArrayRef k, IntArrayRef l) {
    std::vector<int64_t> out = k.vec();
    out.insert(out.end(), l.begin(), l.end());
    return out;
  });
  Stack stack{cpuTensor(), 5, 8};
  findOp("box::sized").callBoxed(stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0].toIntVector(), (std::vector<int64_t>{5, 5, 8}));
}

TEST(Boxing, WrongBoxedArgumentsAreErrors) {
  Library def = fragment("box");
  def.def("picky(Tensor x, int n) -> int", [](const Tensor&, int64_t n) { return n; });
  const OperatorHandle op = findOp("box::picky");
  EXPECT_THAT(errorOf([&] {
                Stack s{cpuTensor()};
                op.callBoxed(s);
              }),
              testing::HasSubstr("needs 2 arguments"));
  EXPECT_THAT(errorOf([&] {
                Stack s{cpuTensor(), "text"};
                op.callBoxed(s);
              }),
              testing::HasSubstr("expected"));
}

}  // namespace
}  // namespace shunt
