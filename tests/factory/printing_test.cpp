// Printing: exact strings, as PyTorch's Python repr shows the same tensors.
#include "tests/shape/util.h"

#include <limits>
#include <sstream>

namespace shunt {
namespace {

using testing::iota;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::string onesRow() { return "[1., 1., 1.,  ..., 1., 1., 1.]"; }

struct PrintCase {
  Tensor tensor;
  std::string text;
};

void expectPrinted(const std::vector<PrintCase>& cases) {
  for (const PrintCase& c : cases) EXPECT_EQ(c.tensor.toString(), c.text);
}

TEST(Printing, Numbers) {
  expectPrinted({
      {shunt::tensor({1., 2.}), "tensor([1., 2.])"},
      {shunt::tensor(5), "tensor(5)"},
      {shunt::tensor(2.5), "tensor(2.5000)"},
      {shunt::tensor(3., kDouble), "tensor(3., dtype=torch.float64)"},
      {shunt::tensor(-0.), "tensor(-0.)"},
      {shunt::tensor(true), "tensor(True)"},
      {shunt::tensor({0.1, 22.5}), "tensor([ 0.1000, 22.5000])"},
      {shunt::tensor({-1., 1.5}), "tensor([-1.0000,  1.5000])"},
      {shunt::tensor({0., 1.5}), "tensor([0.0000, 1.5000])"},
      {shunt::tensor({0., 0.}), "tensor([0., 0.])"},
      {shunt::tensor({1, -20, 300}), "tensor([  1, -20, 300])"},
      {shunt::tensor({true, false}), "tensor([ True, False])"},
      {shunt::tensor({0.33333333, 0.66666667}), "tensor([0.3333, 0.6667])"},
  });
}

TEST(Printing, ScientificAndSpecialValues) {
  expectPrinted({
      {shunt::tensor({1e-5, 1.}), "tensor([1.0000e-05, 1.0000e+00])"},
      {shunt::tensor({1., 1e6}), "tensor([1.0000e+00, 1.0000e+06])"},
      {shunt::tensor({1e5}), "tensor([100000.])"},
      {shunt::tensor({1., 1000.}), "tensor([   1., 1000.])"},
      {shunt::tensor({1e9}), "tensor([1.0000e+09])"},
      {shunt::tensor({0.00001}), "tensor([1.0000e-05])"},
      {shunt::tensor({-1.5e-300, 1.5}, kDouble), "tensor([-1.5000e-300,   1.5000e+00], dtype=torch.float64)"},
      {shunt::tensor({kNan, 1., kInf, -kInf}), "tensor([nan, 1., inf, -inf])"},
      {shunt::tensor({-kNan, 1.5}), "tensor([   nan, 1.5000])"},
      {shunt::tensor({kInf}), "tensor([inf])"},
  });
}

TEST(Printing, TypesAndSuffixes) {
  const Tensor grad = shunt::tensor({1., 2.}, shunt::requires_grad());
  expectPrinted({
      {shunt::tensor({1, 2}, kInt), "tensor([1, 2], dtype=torch.int32)"},
      {shunt::tensor({255}, kByte), "tensor([255], dtype=torch.uint8)"},
      {shunt::tensor({-128}, kChar), "tensor([-128], dtype=torch.int8)"},
      {shunt::tensor({1.5}, kHalf), "tensor([1.5000], dtype=torch.float16)"},
      {shunt::tensor({1.}, kBFloat16), "tensor([1.], dtype=torch.bfloat16)"},
      {grad, "tensor([1., 2.], requires_grad=True)"},
      {grad * grad, "tensor([1., 4.], grad_fn=<MulBackward0>)"},
      {shunt::tensor({1., 2.}, TensorOptions(kDouble).requires_grad(true)),
       "tensor([1., 2.], dtype=torch.float64, requires_grad=True)"},
      {shunt::empty({0}), "tensor([])"},
      {shunt::empty({0}, kLong), "tensor([], dtype=torch.int64)"},
      {shunt::empty({2, 0}), "tensor([], size=(2, 0))"},
      {shunt::empty({0, 3}, kInt), "tensor([], size=(0, 3), dtype=torch.int32)"},
      {shunt::empty({2, 3}, TensorOptions(kMeta)), "tensor(..., device='meta', size=(2, 3))"},
      {shunt::empty({4}, TensorOptions(kMeta).dtype(kDouble)),
       "tensor(..., device='meta', size=(4,), dtype=torch.float64)"},
      {Tensor(), "[ Tensor (undefined) ]"},
  });
}

TEST(Printing, ManyDimensions) {
  expectPrinted({
      {shunt::tensor({{1., 2.}, {3., 4.}}, kDouble), "tensor([[1., 2.],\n        [3., 4.]], dtype=torch.float64)"},
      {iota({2, 3}).t(), "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]])"},
      {iota({2, 2, 2}), "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])"},
      {iota({1, 1, 1, 2}, kLong), "tensor([[[[0, 1]]]])"},
      {shunt::arange(30),
       "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
       "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"},
      {shunt::arange(18, kInt),
       "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17],\n       dtype=torch.int32)"},
  });
}

TEST(Printing, SummarisesAboveAThousandElements) {
  const std::string row = onesRow();
  const std::string rows = row + ",\n        " + row + ",\n        " + row;
  expectPrinted({
      {shunt::arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"},
      {shunt::zeros({1001}), "tensor([0., 0., 0.,  ..., 0., 0., 0.])"},
      {shunt::ones({100, 20}), "tensor([" + rows + ",\n        ...,\n        " + rows + "])"},
      {shunt::ones({2, 600}), "tensor([" + row + ",\n        " + row + "])"},
      // What is not shown does not widen what is.
      {shunt::cat({shunt::ones({3}), shunt::full({1000}, 1e6f), shunt::ones({3})}), "tensor(" + row + ")"},
  });
  EXPECT_EQ(shunt::zeros({1000}).toString().find("..."), std::string::npos);
}

TEST(Printing, Streams) {
  std::ostringstream out;
  out << shunt::tensor({1, 2}) << ' ' << Scalar(true) << ' ' << Scalar(3) << ' ' << Scalar(2.5);
  EXPECT_EQ(out.str(), "tensor([1, 2]) true 3 2.5");
}

}  // namespace
}  // namespace shunt
