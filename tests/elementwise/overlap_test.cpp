// Operands in the memory that is written, of any strides: what overlaps is refused, or read before anything is written,
// so that bits never depend on the order of elements or on threads. All operators of the library that write, in all
// layouts of overlap_cases.h; and the test for overlap itself against a count of all places.
#include "tests/support/error_of.h"
#include "tests/support/overlap_cases.h"
#include "tests/support/same_bits.h"

#include <shunt/core/log.h>
#include <shunt/tensor/memory_overlap.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace shunt::test {
namespace {

using testing::HasSubstr;
constexpr const char* kRefused = "single memory location";

// ---- the question itself ------------------------------------------------------------------------------------------
std::vector<int64_t> bytesOf(const Tensor& t) {
  std::vector<int64_t> places = {t.storage_offset() * t.element_size()};
  for (int64_t d = 0; d < t.dim(); ++d) {
    std::vector<int64_t> next;
    for (const int64_t p : places)
      for (int64_t i = 0; i < t.size(d); ++i) next.push_back(p + i * t.stride(d) * t.element_size());
    places = std::move(next);
  }
  std::vector<int64_t> bytes;
  for (const int64_t p : places)
    for (int64_t b = 0; b < t.element_size(); ++b) bytes.push_back(p + b);
  return bytes;
}

Tensor drawView(const Tensor& memory, std::mt19937& random) {
  const auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  std::vector<int64_t> sizes, strides;
  for (int64_t d = pick(4); d > 0; --d) {
    sizes.push_back(1 + pick(4));
    strides.push_back(pick(12));
  }
  const Tensor typed = pick(4) == 0 ? memory.view(kShort) : memory;
  return typed.as_strided(sizes, strides, pick(40));
}

TEST(MemoryOverlap, IsExact) {
  std::mt19937 random(5);
  const Tensor memory = zeros({400});
  std::map<MemoryOverlap, int> seen;
  for (int i = 0; i < 5000; ++i) {
    const Tensor a = drawView(memory, random), b = drawView(memory, random);
    const auto bytes = bytesOf(a), others = bytesOf(b);
    const std::set<int64_t> places(bytes.begin(), bytes.end());
    const bool meet = std::any_of(others.begin(), others.end(), [&](int64_t p) { return places.contains(p); });
    const MemoryOverlap overlap = memory_overlap(*a.unsafeGetTensorImpl(), *b.unsafeGetTensorImpl());
    ++seen[overlap];
    ASSERT_EQ(overlap != MemoryOverlap::kNone, meet)
        << a.sizes() << a.strides() << a.storage_offset() << " and " << b.sizes() << b.strides() << b.storage_offset();
    ASSERT_EQ(overlap == MemoryOverlap::kSame,
              meet && bytes == others && a.dtype() == b.dtype() && a.numel() == b.numel() &&
                  a.squeeze().sizes() == b.squeeze().sizes() && a.squeeze().strides() == b.squeeze().strides());
    const MemoryOverlap internal = internal_overlap(a.sizes(), a.strides());
    ASSERT_EQ(internal != MemoryOverlap::kNone, places.size() != bytes.size()) << a.sizes() << a.strides();
    ASSERT_NE(overlap, MemoryOverlap::kUnknown);
    ASSERT_NE(internal, MemoryOverlap::kUnknown);
  }
  EXPECT_GT(seen[MemoryOverlap::kNone], 250);
  EXPECT_GT(seen[MemoryOverlap::kSome], 250);
}

// ---- operators ----------------------------------------------------------------------------------------------------
Tensor matrix(int64_t n) {
  manual_seed(3);
  return rand({n, n}).mul_(0.9).add_(0.05);  // probabilities too
}

/// The matrix after the call, and the error.
struct After {
  std::string error;
  Tensor y;
};
After after(const OperatorHandle& op, const Overlapping& how, int64_t n, bool reads_first) {
  const Tensor y = matrix(n), other = y.clone();  // of the same strides, on which sums and products depend
  std::optional<Stack> stack = callOf(op, how.written(y), how.read(reads_first ? other : y));
  manual_seed(9);
  return {errorOf<std::exception>([&] { op.callBoxed(&*stack); }), y};
}

/// Elementwise, so that what is apart is no matter.
bool takesWhatIsApart(const OperatorHandle& op) {
  static const std::set<std::string> kNames = {"aten::add_", "aten::mul_",  "aten::copy_",   "aten::addcmul_",
                                               "aten::sub_", "aten::lerp_", "aten::minimum", "aten::index_add_"};
  return kNames.contains(op.schema().name());
}

TEST(Overlap, OfAnyOperatorIsRefusedOrReadFirst) {
  const LogSink before = set_log_sink([](LogLevel, const char*) {});
  int refused = 0, computed = 0;
  const std::vector<OperatorHandle> ops = writingOperators();
  EXPECT_GT(ops.size(), 120u);
  for (const OperatorHandle& op : ops)
    for (const Overlapping& how : overlappings())
      for (const int64_t n : {5, 210}) {
        SCOPED_TRACE(op.operator_name().str() + ", " + how.name + ", " + std::to_string(n));
        const After expected = after(op, how, n, true), got = after(op, how, n, false);
        if (!expected.error.empty() && expected.error != "no error") continue;
        if (got.error != "no error") {
          ++refused;
          EXPECT_THAT(got.error, testing::AnyOf(HasSubstr(kRefused), HasSubstr("memory locations")));
          EXPECT_TRUE(sameBits(got.y, matrix(n))) << "written before it was refused";
          if (takesWhatIsApart(op) && op.schema().name() != "aten::index_add_") EXPECT_FALSE(how.apart);
          continue;
        }
        ++computed;
        EXPECT_TRUE(sameBits(got.y, expected.y));
        if (takesWhatIsApart(op)) EXPECT_TRUE(how.apart);
      }
  EXPECT_GT(refused, 800);
  EXPECT_GT(computed, 1000);
  set_log_sink(before);
}

// Indices and masks in the memory that is written.
TEST(Overlap, OfIndicesAndMasksIsRefused) {
  const Tensor y = arange(64, TensorOptions().dtype(kLong)).remainder(8).view({8, 8}), before = y.clone();
  const Tensor rows = y[0], source = ones({8, 8}, TensorOptions().dtype(kLong));
  const Tensor mask = tril(ones({8, 8})).to(kBool), mask_before = mask.clone();
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"scatter_", [&] { Tensor(y).scatter_(0, y, source); }},
      {"scatter_ by a column", [&] { Tensor(y).scatter_(1, y.narrow(1, 0, 1), 3); }},
      {"scatter_add_", [&] { Tensor(y).scatter_add_(1, y.t(), source); }},
      {"index_add_", [&] { Tensor(y).index_add_(0, rows, source); }},
      {"index_add_ by a column", [&] { Tensor(y).index_add_(0, y.select(1, 0), source); }},
      {"index_put_", [&] { Tensor(y).index_put_({rows}, source); }},
      {"index_put_ by a column", [&] { Tensor(y).index_put_({y.select(1, 1)}, source); }},
      {"index_put_ of itself", [&] { Tensor(y).index_put_({rows.clone()}, y); }},
      {"masked_fill_", [&] { Tensor(mask).masked_fill_(mask.t(), true); }},
      {"masked_fill_ by a column", [&] { Tensor(mask).masked_fill_(mask.narrow(1, 2, 1), false); }},
      {"gather_out",
       [&] {
         Tensor out = y.narrow(1, 1, 7);
         shunt::gather_out(out, source, 0, y.narrow(1, 0, 7));
       }},
      {"where_out",
       [&] {
         Tensor out = mask;
         shunt::where_out(out, mask.t(), mask, mask);
       }},
  };
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    EXPECT_THAT(errorOf<std::exception>(call), HasSubstr(kRefused));
    EXPECT_TRUE(y.equal(before) && mask.equal(mask_before));
  }
}

// Compiled functions: loops of several operators, views that are folded into them, copies that are left out.
TEST(Overlap, InCompiledFunctionsIsWhatEagerCodeMakesOfIt) {
  for (const Overlapping& how : overlappings())
    for (const int64_t n : {5, 64}) {
      SCOPED_TRACE(std::string(how.name) + ", " + std::to_string(n));
      const auto f = [&](const Tensor& x) {
        Tensor y = x * 2, w = how.written(y);
        const Tensor r = how.read(y);
        const Tensor before = w + r;
        w.add_(r.to(kFloat));
        w.mul_(0.5);
        return std::vector<Tensor>{y + 1, w * 3, before.sin(), r * 1};
      };
      const auto fast = compile(f);
      for (int i = 0; i < 4; ++i) {
        const Tensor x = matrix(n) + i;
        std::vector<Tensor> expected, got;
        const std::string error = errorOf([&] { expected = f(x); });
        EXPECT_EQ(errorOf([&] { got = fast(x); }), error);
        EXPECT_TRUE(sameBits(expected, got));
      }
    }
}

// ---- what overlaps itself -----------------------------------------------------------------------------------------
TEST(Overlap, OfTheWrittenTensorWithItselfIsRefused) {
  const Tensor memory = arange(400, TensorOptions().dtype(kFloat));
  const Tensor windows = memory.as_strided({50, 6}, {3, 1}), expanded = memory.narrow(0, 0, 6).expand({50, 6});
  const Tensor crossed = memory.as_strided({5, 7}, {6, 4}), apart = memory.as_strided({4, 7}, {7, 4});
  for (Tensor t : {windows, expanded, crossed}) {
    EXPECT_THAT(errorOf([&] { t.add_(1); }), HasSubstr("more than one element of the written-to tensor"));
    EXPECT_THAT(errorOf([&] { t.copy_(ones_like(t)); }), HasSubstr("more than one element"));
    EXPECT_THAT(errorOf([&] { shunt::add_out(t, ones(t.sizes()), ones(t.sizes())); }), HasSubstr("more than one"));
    EXPECT_THAT(errorOf([&] { shunt::mm_out(t, ones({t.size(0), 2}), ones({2, t.size(1)})); }), HasSubstr("more than"));
    EXPECT_THAT(errorOf([&] { t.cumsum_(0); }), HasSubstr("more than one element"));
  }
  EXPECT_TRUE(memory.equal(arange(400, TensorOptions().dtype(kFloat))));
  // One value for all places is no matter, and of a mask any of an element's places decides.
  Tensor filled = windows;
  filled.masked_fill_(zeros({50, 6}, TensorOptions().dtype(kBool)).index_put_({tensor({1}), tensor({0})}, tensor(true)),
                      -1);
  EXPECT_EQ(memory[3].item<float>(), -1);
  EXPECT_EQ((memory.eq(-1)).sum().item<int64_t>(), 1);
  filled.fill_(2);
  EXPECT_EQ(memory.narrow(0, 0, 153).sum().item<float>(), 306);
  Tensor free = apart;
  free.fill_(0).add_(3);
  EXPECT_EQ(free.sum().item<float>(), 84);
}

// ---- out= that grows over what is read ----------------------------------------------------------------------------
TEST(Overlap, OfAnOutputThatGrowsIsRefused) {
  const Tensor memory = arange(100, TensorOptions().dtype(kFloat)), x = memory.narrow(0, 10, 20);
  const Tensor index = arange(20, TensorOptions().dtype(kLong)) * 3 % 20;
  const std::vector<std::function<void(Tensor&)>> calls = {
      [&](Tensor& out) { shunt::add_out(out, x, x.flip(0)); },
      [&](Tensor& out) { shunt::exp_out(out, x); },
      [&](Tensor& out) { shunt::index_select_out(out, x, 0, index); },
      [&](Tensor& out) { shunt::gather_out(out, x, 0, index); },
      [&](Tensor& out) { shunt::cat_out(out, {x.narrow(0, 10, 10), x.narrow(0, 0, 10)}); },
      [&](Tensor& out) { shunt::scatter_out(out, x, 0, index, x); },
  };
  for (const auto& call : calls)
    for (const int64_t at : {0, 12}) {
      Tensor out = memory.narrow(0, at, 0);
      EXPECT_THAT(errorOf([&] { call(out); }), HasSubstr("unsupported operation"));
      EXPECT_TRUE(memory.equal(arange(100, TensorOptions().dtype(kFloat))));
    }
}

// What is too involved to know is copied first.
TEST(Overlap, OfManyCrossedDimensionsIsReadFirst) {
  const std::vector<int64_t> sizes = {3, 3, 3, 3, 3, 3, 3, 3},
                             strides = {30013, 30029, 30047, 30059, 30071, 30089, 30091, 30097};
  Tensor memory = arange(600000, TensorOptions().dtype(kFloat));
  const Tensor t = memory.as_strided(sizes, strides, 0), u = memory.as_strided(sizes, strides, 1);
  const auto overlap = memory_overlap(*t.unsafeGetTensorImpl(), *u.unsafeGetTensorImpl());
  const Tensor expected = overlap == MemoryOverlap::kSome ? Tensor() : t + u;
  Tensor written = t;
  const std::string error = errorOf([&] { written.add_(u); });
  if (expected.defined() && error == "no error")
    EXPECT_TRUE(written.equal(expected));
  else
    EXPECT_THAT(error, HasSubstr("single memory location"));
}

}  // namespace
}  // namespace shunt::test
