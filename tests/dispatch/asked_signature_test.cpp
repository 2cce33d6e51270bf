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

TEST(AskedSignature, OfSeveralSignaturesAllAreNamed) {
  Library m = fragment("asked");
  m.def("f(Tensor(a!) x) -> Tensor(a!)");
  const OperatorHandle op = findOp("asked::f");
  op.typed<Tensor&(Tensor&)>();
  const std::string one = errorOf([&] { m.impl("f", DispatchKey::CPU, &ofConst); });
  EXPECT_THAT(one, testing::Not(HasSubstr("boxed kernel")));
  op.typed<Tensor(const Tensor&)>();
  const auto expectRefused = [&](auto* kernel) {
    EXPECT_THAT(errorOf([&] { m.impl("f", DispatchKey::CPU, kernel); }),
                AllOf(HasSubstr("no signature serves all that were asked for, so only a boxed kernel does"),
                      HasSubstr("asked: shunt::Tensor& (shunt::Tensor&)"),
                      HasSubstr("asked: shunt::Tensor (shunt::Tensor const&)")));
  };
  expectRefused(&byReference);
  expectRefused(&ofConst);
  expectRefused(&byValue);
  EXPECT_NO_THROW(m.impl("f", DispatchKey::CPU, CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {})));
}

/// Counts what it is told of asked::f; asks for a signature when the operator is registered.
struct AskingListener : OpRegistrationListener {
  explicit AskingListener(int* told, std::string* error) : told(told), error(error) {}
  void onOperatorRegistered(const OperatorHandle& op) override {
    if (op.operator_name().str() != "asked::f") return;
    ++*told;
    if (error != nullptr) *error = errorOf([&] { op.typed<Tensor&(Tensor&)>(); });
  }
  void onOperatorDeregistered(const OperatorHandle& op) override { *told += op.operator_name().str() == "asked::f"; }
  int* told;
  std::string* error;
};

// Of an operator that has only boxed kernels typed<>() may be asked for, too.
TEST(AskedSignature, ADefinitionWithAKernelOfAnotherOneLeavesNoTrace) {
  Library boxed = fragment("asked"), m = fragment("asked");
  boxed.impl("f", DispatchKey::CPU, CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {}));
  const std::optional<OperatorHandle> op = Dispatcher::singleton().findOp({"asked::f", ""});
  ASSERT_TRUE(op);
  op->typed<Tensor&(Tensor&)>();
  int told = 0;
  const auto listener =
      Dispatcher::singleton().addRegistrationListener(std::make_unique<AskingListener>(&told, nullptr));
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(errorOf([&] { m.def("f(Tensor(a!) x) -> Tensor(a!)", &byValue); }), HasSubstr("by typed<>() at"))
        << "the same is refused again";
    EXPECT_FALSE(op->hasSchema());
    EXPECT_EQ(told, 0);
  }
  EXPECT_NO_THROW(m.def("f(Tensor(a!) x) -> Tensor(a!)", &byReference));
  EXPECT_EQ(told, 1);
}

TEST(AskedSignature, NobodyAsksBetweenADefinitionAndItsKernel) {
  int told = 0;
  std::string error;
  const auto listener =
      Dispatcher::singleton().addRegistrationListener(std::make_unique<AskingListener>(&told, &error));
  Library m = fragment("asked");
  EXPECT_NO_THROW(m.def("f(Tensor(a!) x) -> Tensor(a!)", &byValue));
  EXPECT_EQ(told, 1);
  EXPECT_THAT(error, HasSubstr("Tried to access or call an operator with a wrong signature"));

  // Nor when one step makes several kernels, of which a later one says the signature.
  m.reset();
  told = 0;
  error.clear();
  const KernelForKey kernels[] = {{DispatchKey::CPU, CppFunction::makeFallthrough().kernel()},
                                  {DispatchKey::CUDA, CppFunction(&byValue).kernel()}};
  {
    const auto made = Dispatcher::singleton().registerDef(parseSchema("asked::f(Tensor(a!) x) -> Tensor(a!)"), kernels,
                                                          std::source_location::current());
    EXPECT_EQ(made.size(), 3);
    EXPECT_EQ(told, 1);
    EXPECT_THAT(error, HasSubstr("Tried to access or call an operator with a wrong signature"));
  }
  EXPECT_EQ(told, 2) << "of its end, too";
  EXPECT_FALSE(Dispatcher::singleton().findSchema({"asked::f", ""}));
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
