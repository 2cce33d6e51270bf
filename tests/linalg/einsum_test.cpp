// einsum, cross and linalg_cross: values worked out by hand, broadcasting, errors.
#include "tests/shape/util.h"

namespace shunt::testing {
namespace {

using test::errorOf;
using ::testing::HasSubstr;
using Values = std::vector<double>;

TEST(Einsum, ProductsSumsAndDiagonals) {
  const Tensor a = iota({2, 3}), b = iota({3, 2}).add(1), v = iota({3});
  EXPECT_EQ(valuesOf(einsum("ij,jk->ik", {a, b})), valuesOf(a.mm(b)));
  EXPECT_EQ(valuesOf(einsum("ij,jk", {a, b})), valuesOf(a.mm(b)));
  EXPECT_EQ(valuesOf(einsum("ij , jk -> ki", {a, b})), valuesOf(a.mm(b).t()));
  EXPECT_EQ(valuesOf(einsum("ba", {a})), valuesOf(a.t())) << "subscripts of the output in the alphabet's order";
  EXPECT_EQ(valuesOf(einsum("ij->", {a})), (Values{15}));
  EXPECT_EQ(valuesOf(einsum("ij->j", {a})), (Values{3, 5, 7}));
  EXPECT_EQ(valuesOf(einsum("i,i", {v, v})), (Values{5}));
  EXPECT_EQ(valuesOf(einsum("i,j->ij", {v, v})), valuesOf(v.outer(v)));
  EXPECT_EQ(valuesOf(einsum("ii->i", {iota({2, 2})})), (Values{0, 3}));
  EXPECT_EQ(valuesOf(einsum("ii", {iota({2, 2})})), (Values{3}));
  EXPECT_EQ(valuesOf(einsum("iji->j", {iota({2, 2, 2})})), (Values{5, 9}));
  EXPECT_EQ(valuesOf(einsum("ij,ij,j->i", {a, a, v})), (Values{9, 66}));
  EXPECT_EQ(valuesOf(einsum("ij,ij,j->i", {a, a, v}, IntArrayRef({1, 2, 0, 1}))), (Values{9, 66})) << "another order";
  EXPECT_EQ(valuesOf(einsum("aB,Bc->", {a, b})), (Values{valuesOf(a.mm(b).sum())}));
}

TEST(Einsum, EllipsisAndBroadcast) {
  const Tensor x = iota({2, 2, 3}), m = iota({3, 2});
  EXPECT_EQ(valuesOf(einsum("...ij,jk->...ik", {x, m})), valuesOf(x.matmul(m)));
  EXPECT_EQ(valuesOf(einsum("...,...", {iota({2, 1}), iota({3})})), (Values{0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(valuesOf(einsum("...i->i...", {x})), valuesOf(x.permute({2, 0, 1})));
  EXPECT_EQ(valuesOf(einsum("...i->i", {x})), (Values{18, 22, 26})) << "an ellipsis that the output hasn't is summed";
  EXPECT_EQ(valuesOf(einsum("ij,ij->i", {iota({1, 2}), iota({2, 2})})), (Values{1, 3}));
  EXPECT_EQ(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 3})}).sizes(), IntArrayRef({2, 3}));
}

TEST(Einsum, Errors) {
  const Tensor a = iota({2, 3});
  const auto said = [](const char* equation, std::vector<Tensor> operands) {
    return errorOf([&] { einsum(equation, operands); });
  };
  EXPECT_THAT(said("ij,jk", {a}), HasSubstr("fewer operands were provided"));
  EXPECT_THAT(said("ij", {a, a}), HasSubstr("more operands were provided"));
  EXPECT_THAT(said("i", {a}), HasSubstr("does not match the number of dimensions (2) for operand 0"));
  EXPECT_THAT(said("i..", {a}), HasSubstr("not part of any ellipsis"));
  EXPECT_THAT(said("i1", {a}), HasSubstr("invalid subscript given at index 1"));
  EXPECT_THAT(said("ij->k", {a}), HasSubstr("output subscript k does not appear"));
  EXPECT_THAT(said("ij->ii", {a}), HasSubstr("appears more than once in the output"));
  EXPECT_THAT(said("ii", {a}), HasSubstr("repeated for operand 0 but the sizes don't match, 3 != 2"));
  EXPECT_THAT(
      said("ij,ij", {a, iota({2, 4})}),
      HasSubstr(
          "do not broadcast: subscript j has size 3 in operand 0 of shape [2, 3] and 4 in operand 1 of shape [2, 4]"));
  EXPECT_THAT(errorOf([&] { einsum("", std::vector<Tensor>{}); }), HasSubstr("at least one operand"));
}

TEST(Cross, ValuesAndBroadcast) {
  const Tensor x = tensor({1, 0, 0, 0, 1, 0}).to(kFloat).reshape({2, 3}), y = tensor({0, 2, 0}).to(kFloat);
  EXPECT_EQ(valuesOf(linalg_cross(x, y.unsqueeze(0))), (Values{0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(valuesOf(cross(x, x.flip({0}))), (Values{0, 0, 1, 0, 0, -1})) << "along the first dimension of three";
  EXPECT_EQ(valuesOf(x.t().cross(x.flip({0}).t(), 0).t()), (Values{0, 0, 1, 0, 0, -1}));
  EXPECT_EQ(valuesOf(linalg_cross(x.to(kLong), x.flip({0}).to(kLong))), (Values{0, 0, 1, 0, 0, -1}));
  Tensor out = empty({0});
  EXPECT_EQ(valuesOf(linalg_cross_out(out, y, y)), (Values{0, 0, 0}));
  EXPECT_THAT(errorOf([&] { linalg_cross(x, y); }), HasSubstr("same number of dimensions"));
  EXPECT_THAT(errorOf([&] { linalg_cross(x, x, 0); }), HasSubstr("must have length 3. Got 2 and 2"));
  EXPECT_THAT(errorOf([&] { cross(iota({2, 2}), iota({2, 2})); }), HasSubstr("no dimension of size 3"));
  EXPECT_THAT(errorOf([&] { linalg_cross(x, x.to(kDouble)); }),
              HasSubstr("expected scalar type Float but found Double for argument 'other'"));
}

}  // namespace
}  // namespace shunt::testing
