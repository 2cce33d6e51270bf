// out= forms of operators that are not elementwise: structured operators and composites made of them write into `out`
// where it fits, and into a result that is copied where it doesn't; values, shapes and errors are the functional
// form's.
#include <shunt/core/library.h>
#include <shunt/shunt.h>

#include "tests/support/error_of.h"
#include "tests/support/same_bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace shunt {
namespace {

using test::errorOf;
using test::kButStrides;
using test::sameBits;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct Form {
  const char* name;
  std::vector<Tensor> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> functional;
  std::function<void(const std::vector<Tensor>&, Tensor&)> out;
  const char* made_of;  // what writes into out
};

Tensor real(std::vector<int64_t> sizes, ScalarType dtype = kFloat) {
  manual_seed(7);
  return rand(sizes).sub(0.5).mul(4).to(dtype);
}

std::vector<Form> forms() {
  using In = const std::vector<Tensor>&;
  const Tensor x = real({3, 5}), y = real({5, 2}), v = real({5}), batch = real({2, 3, 5}), weight = real({2, 5}),
               bias = real({2});
  return {
      {"_softmax",
       {x},
       [](In i) { return _softmax(i[0], 1, false); },
       [](In i, Tensor& o) { _softmax_out(o, i[0], 1, false); },
       "aten::_softmax.out"},
      {"_log_softmax",
       {x},
       [](In i) { return _log_softmax(i[0], 0, false); },
       [](In i, Tensor& o) { _log_softmax_out(o, i[0], 0, false); },
       "aten::_log_softmax.out"},
      {"_softmax_backward_data",
       {x, real({3, 5})},
       [](In i) { return _softmax_backward_data(i[0], i[1], 1, kFloat); },
       [](In i, Tensor& o) { _softmax_backward_data_out(o, i[0], i[1], 1, kFloat); },
       "aten::_softmax_backward_data.out"},
      {"_log_softmax_backward_data",
       {x, real({3, 5})},
       [](In i) { return _log_softmax_backward_data(i[0], i[1], 1, kFloat); },
       [](In i, Tensor& o) { _log_softmax_backward_data_out(o, i[0], i[1], 1, kFloat); },
       "aten::_log_softmax_backward_data.out"},
      {"softmax",
       {x},
       [](In i) { return softmax(i[0], 1); },
       [](In i, Tensor& o) { softmax_out(o, i[0], 1); },
       "aten::_softmax.out"},
      {"log_softmax",
       {x},
       [](In i) { return log_softmax(i[0], 1); },
       [](In i, Tensor& o) { log_softmax_out(o, i[0], 1); },
       "aten::_log_softmax.out"},
      {"dot",
       {v, real({5})},
       [](In i) { return dot(i[0], i[1]); },
       [](In i, Tensor& o) { dot_out(o, i[0], i[1]); },
       "aten::dot.out"},
      {"mv",
       {x, v},
       [](In i) { return mv(i[0], i[1]); },
       [](In i, Tensor& o) { mv_out(o, i[0], i[1]); },
       "aten::mv.out"},
      {"matmul of matrices",
       {x, y},
       [](In i) { return matmul(i[0], i[1]); },
       [](In i, Tensor& o) { matmul_out(o, i[0], i[1]); },
       "aten::mm.out"},
      {"matmul of vectors",
       {v, v},
       [](In i) { return matmul(i[0], i[1]); },
       [](In i, Tensor& o) { matmul_out(o, i[0], i[1]); },
       "aten::dot.out"},
      {"matmul of matrix and vector",
       {x, v},
       [](In i) { return matmul(i[0], i[1]); },
       [](In i, Tensor& o) { matmul_out(o, i[0], i[1]); },
       "aten::mv.out"},
      {"matmul of a batch and a matrix",
       {batch, y},
       [](In i) { return matmul(i[0], i[1]); },
       [](In i, Tensor& o) { matmul_out(o, i[0], i[1]); },
       "aten::mm.out"},
      {"matmul of a batch and a vector",
       {batch, v},
       [](In i) { return matmul(i[0], i[1]); },
       [](In i, Tensor& o) { matmul_out(o, i[0], i[1]); },
       "aten::mv.out"},
      {"linear",
       {x, weight, bias},
       [](In i) { return linear(i[0], i[1], i[2]); },
       [](In i, Tensor& o) { linear_out(o, i[0], i[1], i[2]); },
       "aten::addmm.out"},
      {"linear without bias",
       {x, weight},
       [](In i) { return linear(i[0], i[1]); },
       [](In i, Tensor& o) { linear_out(o, i[0], i[1]); },
       "aten::mm.out"},
  };
}

/// Names of all operators called while it lives, by a fallback that redispatches.
class Recorder {
 public:
  Recorder() {
    fallback_.fallback(CppFunction::makeFromBoxed([this](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
      names_.insert(op.operator_name().str());
      op.redispatchBoxed(ks & DispatchKeySet::fullAfter(DispatchKey::Tracer), stack);
    }));
  }
  std::set<std::string> during(const std::function<void()>& f) {
    names_.clear();
    const IncludeDispatchKeyGuard guard(DispatchKey::Tracer);
    f();
    return names_;
  }

 private:
  Library fallback_{Library::Kind::kImpl, "_", DispatchKey::Tracer};
  std::set<std::string> names_;
};

TEST(StructuredOut, WritesIntoAnOutThatFitsWithoutACopy) {
  Recorder recorder;
  for (const Form& f : forms()) {
    SCOPED_TRACE(f.name);
    const Tensor expected = f.functional(f.inputs);
    Tensor out = full(expected.sizes(), NAN);
    const void* memory = out.data_ptr();
    const std::set<std::string> called = recorder.during([&] { f.out(f.inputs, out); });
    EXPECT_TRUE(sameBits(out, expected));
    EXPECT_EQ(out.data_ptr(), memory);
    EXPECT_THAT(called, Contains(f.made_of));
    EXPECT_THAT(called, Not(Contains("aten::copy_")));
  }
}

TEST(StructuredOut, ResizesAndFillsAnyLayout) {
  for (const Form& f : forms()) {
    SCOPED_TRACE(f.name);
    const Tensor expected = f.functional(f.inputs);
    Tensor empty_out = empty({0}), larger = full({40}, NAN);
    f.out(f.inputs, empty_out);
    EXPECT_TRUE(sameBits(empty_out, expected));
    f.out(f.inputs, larger);
    EXPECT_TRUE(sameBits(larger, expected));
    if (expected.dim() < 2) continue;
    Tensor strided = full(expected.transpose(0, 1).sizes(), NAN).transpose(0, 1);
    const std::vector<int64_t> strides = strided.strides().vec();
    f.out(f.inputs, strided);
    EXPECT_TRUE(sameBits(expected, strided, kButStrides));
    EXPECT_EQ(strided.strides().vec(), strides);
  }
}

TEST(StructuredOut, MayBeAnInput) {
  for (const Form& f : forms())
    for (size_t i = 0; i < f.inputs.size(); ++i) {
      SCOPED_TRACE(std::string(f.name) + " into input " + std::to_string(i));
      std::vector<Tensor> inputs;
      for (const Tensor& t : f.inputs) inputs.push_back(t.clone());
      const Tensor expected = f.functional(inputs);
      Tensor out = inputs[i];
      f.out(inputs, out);
      EXPECT_TRUE(sameBits(out, expected));
    }
}

TEST(StructuredOut, RefusesOtherDtypesOverlapAndGradients) {
  for (const Form& f : forms()) {
    SCOPED_TRACE(f.name);
    const Tensor expected = f.functional(f.inputs);
    Tensor other = empty(expected.sizes(), kDouble), undefined;
    EXPECT_THAT(errorOf([&] { f.out(f.inputs, other); }), HasSubstr("dtype"));
    EXPECT_THAT(errorOf([&] { f.out(f.inputs, undefined); }), HasSubstr("undefined"));
    if (expected.numel() > 1) {
      Tensor overlapping = zeros({1}).expand(expected.sizes());
      EXPECT_THAT(errorOf([&] { f.out(f.inputs, overlapping); }),
                  HasSubstr("more than one element of the written-to tensor"));
    }
    std::vector<Tensor> tracked = f.inputs;
    tracked[0] = tracked[0].clone().requires_grad_();
    Tensor out = empty(expected.sizes());
    EXPECT_THAT(errorOf([&] { f.out(tracked, out); }),
                HasSubstr("out=... arguments don't support automatic differentiation"));
  }
}

TEST(StructuredOut, HasShapesAndErrorsOnMeta) {
  for (const Form& f : forms()) {
    SCOPED_TRACE(f.name);
    const Tensor expected = f.functional(f.inputs);
    std::vector<Tensor> inputs;
    for (const Tensor& t : f.inputs) inputs.push_back(t.to(Device(kMeta)));
    EXPECT_EQ(f.functional(inputs).sizes().vec(), expected.sizes().vec());
    Tensor out = empty({0}, TensorOptions(kFloat).device(kMeta)),
           other = empty({0}, TensorOptions(kDouble).device(kMeta));
    f.out(inputs, out);
    EXPECT_EQ(out.sizes().vec(), expected.sizes().vec());
    EXPECT_TRUE(out.is_meta());
    EXPECT_THAT(errorOf([&] { f.out(inputs, other); }), HasSubstr("dtype"));
  }
}

}  // namespace
}  // namespace shunt
