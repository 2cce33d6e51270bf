// Every functor with every dtype it has: contiguous, strided, repeated and mixed-dtype operands, in place, and the
// generic loops, each against one plain call of the functor per element.
#include "tests/elementwise/elementwise_test_util.h"

namespace shunt::elementwise_test {
namespace {

using elementwise::kDtypeSlots;
using elementwise::kMaxInputs;
using elementwise::ScalarSlot;

struct Case {
  std::string name;
  const elementwise::KernelDescriptor* op;
  Tensor (*run)(const Tensor* inputs, const Scalar* scalars);
  void (*run_inplace)(Tensor& self, const Tensor* inputs, const Scalar* scalars);
  /// The reference: one element; `in` and `out` point at elements of the loop's dtypes.
  bool (*element)(ScalarType common, std::byte* out, const std::byte* const* in, const Scalar* scalars);
  const elementwise::GenericLoopFn* generic;
};

template <class F, class D, size_t I>
auto loadInput(const std::byte* p) {
  if constexpr (((F::kMaskInputs >> I) & 1) != 0)
    return elementwise::loadRaw<bool>(p);
  else
    return static_cast<opmath_t<D>>(elementwise::loadRaw<D>(p));
}

template <class F, class D, size_t... I, size_t... S>
bool oneElement(std::byte* out, const std::byte* const* in, const Scalar* scalars, std::index_sequence<I...>,
                std::index_sequence<S...>) {
  using C = opmath_t<D>;
  if constexpr (HasValidity<F>)
    if (!F::valid(loadInput<F, D, I>(in[I])...)) return false;
  const auto result = F()(loadInput<F, D, I>(in[I])..., scalars[S].to<C>()...);
  if constexpr (F::kBoolOutput)
    elementwise::storeRaw<bool>(out, result);
  else
    elementwise::storeRaw<D>(out, D(result));
  return true;
}

template <class F>
bool element(ScalarType common, std::byte* out, const std::byte* const* in, const Scalar* scalars) {
  bool valid = false;
  dispatchAllTypes(common, "reference", [&]<class D>(std::type_identity<D>) {
    if constexpr ((F::kTypes & dtypeBit(scalar_type_of<D>)) != 0)
      valid = oneElement<F, D>(out, in, scalars, std::make_index_sequence<F::kInputs>(),
                               std::make_index_sequence<F::kScalars>());
  });
  return valid;
}

template <class F, size_t... I, size_t... S>
Tensor runWith(const Tensor* in, const Scalar* s, std::index_sequence<I...>, std::index_sequence<S...>) {
  return elementwise::run<F>("op", in[I]..., s[S]...);
}
template <class F, size_t... I, size_t... S>
void runInplaceWith(Tensor& self, const Tensor* in, const Scalar* s, std::index_sequence<I...>,
                    std::index_sequence<S...>) {
  elementwise::runInplace<F>("op_", self, in[1 + I]..., s[S]...);
}

template <class F>
Case makeCase(const char* name) {
  using Inputs = std::make_index_sequence<F::kInputs>;
  using Rest = std::make_index_sequence<F::kInputs - 1>;
  using Scalars = std::make_index_sequence<F::kScalars>;
  return {name,
          &elementwise::kDescriptor<F>,
          [](const Tensor* in, const Scalar* s) { return runWith<F>(in, s, Inputs(), Scalars()); },
          [](Tensor& self, const Tensor* in, const Scalar* s) { runInplaceWith<F>(self, in, s, Rest(), Scalars()); },
          &element<F>,
          *elementwise::kDescriptor<F>.generic_shard + elementwise::kDescriptor<F>.row};
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
#define SHUNT_FUNCTOR(name, shard, index) cases.push_back(makeCase<functors::name>(#name));
  SHUNT_FORALL_FUNCTORS(SHUNT_FUNCTOR)
#undef SHUNT_FUNCTOR
  return cases;
}

constexpr ScalarType kDtypes[] = {kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble, kBool, kBFloat16};

/// Calls `f(case, dtype, description)` for every functor and each of its dtypes.
template <class F>
void forEachCase(F f) {
  int visited = 0;
  for (const Case& c : allCases())
    for (ScalarType dtype : kDtypes) {
      if ((c.op->types & dtypeBit(dtype)) == 0) continue;
      f(c, dtype, c.name + " " + toString(dtype));
      ++visited;
      if (::testing::Test::HasFatalFailure()) return;
    }
  EXPECT_GT(visited, 350);
}

struct Inputs {
  Tensor tensors[kMaxInputs];
  Scalar scalars[elementwise::kMaxScalars] = {1, 1, 1};
};

/// Integer division has no zero among its divisors here.
void avoidInvalid(const Case& c, ScalarType dtype, const Tensor& divisor) {
  if (c.op->invalid == nullptr) return;
  dispatchAllTypes(dtype, "divisor", [&]<class T>(std::type_identity<T>) {
    for (int64_t i = 0; i < divisor.numel(); ++i)
      if (get<T>(divisor, i) == T(0)) put<T>(divisor, i, T(3));
  });
}

Inputs makeInputs(const Case& c, ScalarType dtype, const Sizes& sizes, const Sizes& strides = {}) {
  Inputs in;
  for (int i = 0; i < c.op->num_inputs; ++i) {
    in.tensors[i] = makeTensor(c.op->loopInput(i, dtype), sizes, strides);
    fillInteresting(in.tensors[i], 1000 + static_cast<uint64_t>(i));
  }
  if (c.op->num_inputs > 1) avoidInvalid(c, dtype, in.tensors[1]);
  if (dtype == kBool)
    in.scalars[0] = in.scalars[1] = true;
  else if (isFloatingType(dtype))
    in.scalars[0] = 0.75, in.scalars[1] = -2.0;
  else
    in.scalars[0] = 3, in.scalars[1] = 5;
  return in;
}

/// Element i of the operands, each indexed in its own broadcast shape (same shape or one element).
Tensor reference(const Case& c, ScalarType dtype, const Inputs& in, const Sizes& sizes) {
  Tensor out = makeTensor(c.op->loopOutput(dtype), sizes);
  for (int64_t i = 0; i < out.numel(); ++i) {
    const std::byte* pointers[kMaxInputs];
    for (int k = 0; k < c.op->num_inputs; ++k)
      pointers[k] = elementAt(in.tensors[k], in.tensors[k].numel() == 1 ? 0 : i);
    EXPECT_TRUE(c.element(dtype, elementAt(out, i), pointers, in.scalars));
  }
  return out;
}

TEST(Functors, Contiguous) {
  forEachCase([](const Case& c, ScalarType dtype, const std::string& what) {
    for (int64_t n : {1, 16, 67, 1003}) {
      const Inputs in = makeInputs(c, dtype, {n});
      const uint64_t fast = elementwise::pathCounters().fast;
      expectSame(c.run(in.tensors, in.scalars), reference(c, dtype, in, {n}), what);
      EXPECT_EQ(elementwise::pathCounters().fast, fast + 1) << what;
    }
  });
}

TEST(Functors, Strided) {
  forEachCase([](const Case& c, ScalarType dtype, const std::string& what) {
    for (const auto& [sizes, strides] :
         {std::pair<Sizes, Sizes>{{7, 90}, {200, 2}}, {{40, 5}, {1, 41}}, {{3, 4, 5}, {1, 100, 7}}}) {
      const Inputs in = makeInputs(c, dtype, sizes, strides);
      expectSame(c.run(in.tensors, in.scalars), reference(c, dtype, in, sizes), what);
    }
  });
}

TEST(Functors, Repeated) {
  forEachCase([](const Case& c, ScalarType dtype, const std::string& what) {
    if (c.op->num_inputs == 1) return;
    for (int k = 0; k < c.op->num_inputs; ++k) {
      Inputs in = makeInputs(c, dtype, {515});
      in.tensors[k] = makeTensor(c.op->loopInput(k, dtype), {});
      fillInteresting(in.tensors[k], 5);
      avoidInvalid(c, dtype, in.tensors[1]);
      expectSame(c.run(in.tensors, in.scalars), reference(c, dtype, in, {515}), what + " input " + std::to_string(k));
    }
  });
}

TEST(Functors, InPlace) {
  forEachCase([](const Case& c, ScalarType dtype, const std::string& what) {
    if (c.op->bool_output || c.op->loopInput(0, dtype) != dtype) return;
    const Inputs in = makeInputs(c, dtype, {301});
    const Tensor expected = reference(c, dtype, in, {301});
    Tensor self = in.tensors[0];
    c.run_inplace(self, in.tensors, in.scalars);
    expectSame(self, expected, what);
  });
}

/// A second operand of a lower dtype is cast to the common one, element by element.
TEST(Functors, MixedDtypes) {
  forEachCase([](const Case& c, ScalarType dtype, const std::string& what) {
    if (c.op->num_inputs != 2 || c.op->masks != 0 || dtype == kBool || c.op->check == &checks::lerp ||
        c.op->check == &checks::subtraction)
      return;
    Inputs in = makeInputs(c, dtype, {411});
    const ScalarType lower = isFloatingType(dtype) ? kLong : kBool;
    const Tensor other = makeTensor(lower, {411});
    fillInteresting(other, 77);
    avoidInvalid(c, lower, other);
    Inputs mixed = in;
    mixed.tensors[1] = other;
    if (lower == kBool && c.op->invalid != nullptr) return;
    for (int64_t i = 0; i < 411; ++i)
      dispatchAllTypes(dtype, "cast", [&]<class D>(std::type_identity<D>) {
        put<D>(in.tensors[1], i, lower == kLong ? cast<D>(get<int64_t>(other, i)) : cast<D>(get<bool>(other, i)));
      });
    expectSame(c.run(mixed.tensors, in.scalars), reference(c, dtype, in, {411}), what);
  });
}

TEST(Functors, GenericLoop) {
  forEachCase([](const Case& c, ScalarType dtype, const std::string& what) {
    const Inputs in = makeInputs(c, dtype, {67}, {3});
    const Tensor expected = c.run(in.tensors, in.scalars);
    const Tensor out = makeTensor(expected.dtype(), {67}, {2});
    elementwise::View views[kMaxInputs];
    for (int k = 0; k < c.op->num_inputs; ++k)
      views[k] = {elementAt(in.tensors[k], 0), 3 * in.tensors[k].itemsize(), in.tensors[k].dtype()};
    ScalarSlot slots[elementwise::kMaxScalars];
    for (int s = 0; s < c.op->num_scalars; ++s)
      dispatchAllTypes(dtype, "scalar", [&]<class D>(std::type_identity<D>) {
        elementwise::storeRaw<opmath_t<D>>(slots[s].bytes, in.scalars[s].to<opmath_t<D>>());
      });
    const auto loop = c.generic[static_cast<int>(dtype)];
    ASSERT_NE(loop, nullptr) << what;
    EXPECT_TRUE(loop({elementAt(out, 0), 2 * out.itemsize(), out.dtype()}, views, 67, slots, dtype));
    expectSame(out, expected, what);
  });
}

}  // namespace
}  // namespace shunt::elementwise_test
