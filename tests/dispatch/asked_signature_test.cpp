// Signatures that typed<>() was asked for: kernels of others are refused, whichever comes first.
#include "tests/dispatch/util.h"

#include <shunt/shunt.h>

#include <functional>

namespace shunt {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

Tensor& byReference(Tensor& x) { return x.add_(1); }
Tensor byValue(Tensor& x) { return x.add_(1); }
Tensor ofConst(const Tensor& x) { return Tensor(x).add_(1); }
Tensor ofCopy(Tensor x) { return x.add_(1); }
int64_t number(int64_t n) { return n + 1; }
int64_t ofReference(const int64_t& n) { return n + 1; }

/// Two functions that serve one schema and are called differently.
struct Pair {
  const char* what;
  const char* schema;
  std::function<void(const OperatorHandle&)> ask;  // the one's signature
  std::function<void(Library&)> fitting, other;    // registers the one, the other
};

template <auto* kAsked, auto* kOther>
Pair pairOf(const char* what, const char* schema) {
  return {what, schema, [](const OperatorHandle& op) { op.typed<std::remove_pointer_t<decltype(kAsked)>>(); },
          [](Library& m) { m.impl("f", DispatchKey::CPU, kAsked); },
          [](Library& m) { m.impl("f", DispatchKey::CPU, kOther); }};
}

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> all = {
      pairOf<&byReference, &byValue>("a returned reference", "f(Tensor(a!) x) -> Tensor(a!)"),
      pairOf<&byValue, &byReference>("a returned value", "f(Tensor(a!) x) -> Tensor(a!)"),
      pairOf<&byValue, &ofConst>("Tensor& against const Tensor&", "f(Tensor(a!) x) -> Tensor(a!)"),
      pairOf<&byValue, &ofCopy>("Tensor& against Tensor", "f(Tensor(a!) x) -> Tensor(a!)"),
      pairOf<&ofCopy, &byValue>("Tensor against Tensor&", "f(Tensor(a!) x) -> Tensor(a!)"),
      pairOf<&number, &ofReference>("a number against its address", "f(int n) -> int")};
  return all;
}

Library defined(const Pair& pair) {
  Library def = fragment("asked");
  def.def(pair.schema);
  return def;
}

TEST(AskedSignature, AKernelOfAnotherOneComesTooLate) {
  for (const Pair& pair : pairs()) {
    const Library def = defined(pair);
    const OperatorHandle op = findOp("asked::f");
    pair.ask(op);
    const std::string state = op.dumpState(), table = op.dumpComputedTable();
    Library late = fragment("asked");
    EXPECT_THAT(errorOf([&] { pair.other(late); }),
                AllOf(HasSubstr("Mismatch in kernel C++ signatures of operator asked::f"), HasSubstr("asked: "),
                      HasSubstr("by typed<>() at asked_signature_test.cpp:"), HasSubstr("now:   "),
                      HasSubstr("for CPU at asked_signature_test.cpp:")))
        << pair.what;
    EXPECT_EQ(op.dumpState(), state) << pair.what;
    EXPECT_EQ(op.dumpComputedTable(), table) << pair.what;
    EXPECT_FALSE(op.hasKernelForDispatchKey(DispatchKey::CPU)) << pair.what;
    EXPECT_NO_THROW(pair.fitting(late)) << pair.what;
    op.checkInvariants();
  }
}

TEST(AskedSignature, AnotherOneIsAskedForTooLate) {
  for (const Pair& pair : pairs()) {
    const Library def = defined(pair);
    Library kernel = fragment("asked");
    pair.other(kernel);
    const OperatorHandle op = findOp("asked::f");
    EXPECT_THAT(errorOf([&] { pair.ask(op); }),
                AllOf(HasSubstr("Tried to access or call an operator with a wrong signature"),
                      HasSubstr(std::string("asked::") + pair.schema), HasSubstr("typed<>() asked: "),
                      HasSubstr("at asked_signature_test.cpp:"), HasSubstr("known:           "),
                      HasSubstr("from asked_signature_test.cpp:")))
        << pair.what;
    kernel.reset();
    EXPECT_NO_THROW(pair.ask(op)) << pair.what << ": what was refused is not remembered";
    EXPECT_NO_THROW(pair.fitting(kernel)) << pair.what;
  }
}

TEST(AskedSignature, TheHandleCallsTheKernelThatCameLater) {
  Library m = fragment("asked");
  m.def("f(Tensor(a!) x) -> Tensor(a!)");
  const auto typed = findOp("asked::f").typed<Tensor&(Tensor&)>();
  m.impl("f", DispatchKey::CPU, &byReference);
  Tensor x = zeros({2});
  EXPECT_EQ(&typed.call(x), &x);
  EXPECT_EQ(x[0].item<float>(), 1);
}

TEST(AskedSignature, OutlivesTheKernelThatItCameFrom) {
  Library def = fragment("asked"), first = fragment("asked"), second = fragment("asked");
  def.def("f(Tensor(a!) x) -> Tensor(a!)");
  first.impl("f", DispatchKey::CPU, &byReference);
  const OperatorHandle op = findOp("asked::f");
  const auto typed = op.typed<Tensor&(Tensor&)>();
  first.reset();
  EXPECT_THAT(errorOf([&] { second.impl("f", DispatchKey::CPU, &byValue); }), HasSubstr("by typed<>() at"));
  Tensor x = zeros({2});
  EXPECT_THAT(errorOf([&] { typed.call(x); }), HasSubstr("Could not run 'asked::f'"));
}

TEST(AskedSignature, BoxedKernelsServeAllOfThem) {
  Library m = fragment("asked");
  m.def("f(Tensor(a!) x) -> Tensor(a!)");
  const OperatorHandle op = findOp("asked::f");
  m.impl("f", DispatchKey::CPU,
         CppFunction::makeFromBoxed([](const OperatorHandle&, Stack* stack) { stack->back().toTensor().add_(1); }));
  Tensor x = zeros({2});
  EXPECT_EQ(&op.typed<Tensor&(Tensor&)>().call(x), &x);
  EXPECT_TRUE(op.typed<Tensor(const Tensor&)>().call(x).is_same(x));
  EXPECT_EQ(x[0].item<float>(), 2);
}

TEST(AskedSignature, IsForgottenWithTheDefinition) {
  Library def = fragment("asked");
  def.def("f(Tensor(a!) x) -> Tensor(a!)");
  const OperatorHandle op = findOp("asked::f");
  op.typed<Tensor&(Tensor&)>();
  def.reset();
  op.typed<Tensor&(Tensor&)>();
  Library again = fragment("asked");
  EXPECT_NO_THROW(again.def("f(int n) -> int", &number));
  EXPECT_EQ(findOp("asked::f").typed<int64_t(int64_t)>().call(1), 2);
}

}  // namespace
}  // namespace shunt
