// Dtypes of one sample: vmap of operators whose operands have other dtypes equals the loop, to the bit, and throws
// where it throws, for all pairs of dtypes, with and without dimensions, batched or not.
#include "tests/vmap/util.h"

namespace shunt::test {
namespace {

constexpr int64_t kSamples = 2;
const std::vector<ScalarType> kDtypes = {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble};

/// One choice for each operand: its dtype, whether it has a dimension, whether it is batched.
struct Operand {
  ScalarType dtype;
  bool has_dims, batched;
};

Tensor numbersFor(const Operand& o, int64_t salt) {
  std::vector<int64_t> sizes;
  if (o.batched) sizes.push_back(kSamples);
  if (o.has_dims) sizes.push_back(3);
  Tensor t = empty(sizes, TensorOptions(kLong));
  Tensor flat = t.view({-1});
  // Some of them don't fit in eight bits.
  for (int64_t i = 0; i < flat.numel(); ++i)
    flat.select(0, i).fill_((i + salt) % 3 == 0 ? 784 : 3 + (5 * i + salt) % 7);
  return t.to(o.dtype);
}

std::string errorIn(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

void expectTheLoop(const std::string& name, const Function& f, const std::vector<Operand>& operands) {
  Tensors in;
  std::vector<std::optional<int64_t>> dims;
  std::string what = name;
  for (const Operand& o : operands) {
    in.push_back(numbersFor(o, static_cast<int64_t>(in.size())));
    dims.push_back(o.batched ? std::optional<int64_t>(0) : std::nullopt);
    what += detail::str(" ", o.dtype, o.has_dims ? "[3]" : "[]", o.batched ? " batched" : "");
  }
  Tensors got, expected;
  const std::string refused = errorIn([&] { expected = loop(f, in, dims); });
  const std::string error = errorIn([&] { got = vmapped(f, in, dims); });
  ASSERT_EQ(error.empty(), refused.empty()) << what << "\nvmap: " << error << "\nloop: " << refused;
  if (!error.empty()) return;
  ASSERT_EQ(got[0].dtype(), expected[0].dtype()) << what;
  ASSERT_TRUE(sameValues(got[0], expected[0])) << what << "\n" << got[0] << "\nexpected\n" << expected[0];
}

template <class F>
void forEachPair(F&& f) {
  for (const ScalarType a : kDtypes)
    for (const ScalarType b : kDtypes)
      for (const unsigned dims : {0u, 1u, 2u, 3u})
        for (const unsigned batched : {1u, 2u, 3u})
          f(std::vector<Operand>{{a, (dims & 1) != 0, (batched & 1) != 0}, {b, (dims & 2) != 0, (batched & 2) != 0}});
}

TEST(VmapPromotion, OfTwoOperandsEqualsTheLoop) {
  using Named = std::pair<const char*, Function>;
  const std::vector<Named> operators = {
      {"add", [](const Tensors& t) { return Tensors{t[0] + t[1]}; }},
      {"sub", [](const Tensors& t) { return Tensors{t[0] - t[1]}; }},
      {"div", [](const Tensors& t) { return Tensors{t[0] / t[1]}; }},
      {"div trunc", [](const Tensors& t) { return Tensors{ops::div_Tensor_mode::call(t[0], t[1], "trunc")}; }},
      {"div without mode",
       [](const Tensors& t) { return Tensors{ops::div_Tensor_mode::call(t[0], t[1], std::nullopt)}; }},
      {"lt", [](const Tensors& t) { return Tensors{t[0].lt(t[1])}; }},
      {"maximum", [](const Tensors& t) { return Tensors{maximum(t[0], t[1])}; }},
      {"lerp", [](const Tensors& t) { return Tensors{ops::lerp_Scalar::call(t[0], t[1], 0.25)}; }},
      {"where", [](const Tensors& t) { return Tensors{where(t[0].gt(4), t[0], t[1])}; }},
      {"add_", [](const Tensors& t) { return Tensors{t[0].clone().add_(t[1])}; }},
      {"div_", [](const Tensors& t) { return Tensors{t[0].clone().div_(t[1])}; }},
  };
  for (const auto& [name, f] : operators)
    forEachPair([&](const std::vector<Operand>& operands) {
      // One tensor can't hold a result for each sample, nor one of more dimensions.
      const bool written = std::string_view(name).ends_with('_');
      if (written && (!operands[0].batched || operands[1].has_dims > operands[0].has_dims)) return;
      expectTheLoop(name, f, operands);
    });
}

TEST(VmapPromotion, OfThreeOperandsEqualsTheLoop) {
  const Function addcmul = [](const Tensors& t) { return Tensors{ops::addcmul::call(t[0], t[1], t[2], 1)}; };
  const Function lerp = [](const Tensors& t) { return Tensors{ops::lerp_Tensor::call(t[0], t[1], t[2])}; };
  const ScalarType dtypes[] = {kChar, kInt, kHalf, kDouble};
  for (const ScalarType a : dtypes)
    for (const ScalarType b : dtypes)
      for (const ScalarType c : dtypes)
        for (unsigned dims = 0; dims < 8; ++dims)
          for (unsigned batched = 1; batched < 8; ++batched) {
            const std::vector<Operand> operands = {{a, (dims & 1) != 0, (batched & 1) != 0},
                                                   {b, (dims & 2) != 0, (batched & 2) != 0},
                                                   {c, (dims & 4) != 0, (batched & 4) != 0}};
            expectTheLoop("addcmul", addcmul, operands);
            expectTheLoop("lerp", lerp, operands);
          }
}

TEST(VmapPromotion, MaskedFillKeepsTheDtypeOfWhatIsFilled) {
  const Tensor mask = tensor({true, false});
  for (const bool of_dims : {false, true})
    for (const bool masks_batched : {false, true}) {
      const Function f = [&](const Tensors& t) { return Tensors{t[0].masked_fill(t[0].ne(3), t[1])}; };
      const Function shared = [&](const Tensors& t) { return Tensors{t[0].masked_fill(mask[0], t[1])}; };
      forEachPair([&](const std::vector<Operand>& operands) {
        if (operands[0].has_dims == of_dims && !operands[1].has_dims)
          expectTheLoop("masked_fill", masks_batched ? f : shared, operands);
      });
    }
}

TEST(VmapPromotion, NumbersPromoteTheirCategoryOnly) {
  const Function f = [](const Tensors& t) { return Tensors{t[0] * t[1] + 2.5}; };
  forEachPair([&](const std::vector<Operand>& operands) { expectTheLoop("mul and a number", f, operands); });
}

}  // namespace
}  // namespace shunt::test
