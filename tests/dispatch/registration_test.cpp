// Registering: precedence, RAII, fallbacks, errors that leave no trace.
#include "tests/dispatch/util.h"

#include <shunt/shunt.h>

#include <functional>
#include <thread>

namespace shunt {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Answer = int64_t(const Tensor&);

int64_t callAnswer(const OperatorHandle& op, const Tensor& t) { return op.typed<Answer>().call(t); }

TEST(Registration, AWrittenTensorMayBeConstInCpp) {
  Library def = fragment("reg_const");
  def.def("f_(Tensor(a!) x) -> Tensor(a!)");
  def.def("g(Tensor x) -> Tensor");
  def.impl("f_", DispatchKey::CPU, +[](const Tensor& x) { return x.fill_(3); });
  const Tensor x = cpuTensor();
  const OperatorHandle op = findOp("reg_const::f_");
  EXPECT_TRUE(op.typed<Tensor(const Tensor&)>().call(x).is_same(x));
  Stack stack{IValue(x)};
  op.callBoxed(&stack);
  EXPECT_TRUE(stack.back().toTensor().is_same(x));
  try {
    def.impl("g", DispatchKey::CPU, +[](Tensor& x) { return x; });
    ADD_FAILURE() << "what is not written may not be Tensor&";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("'x'"), HasSubstr("not written in the schema")));
  }
}

TEST(Registration, PrecedenceForABackendSlot) {
  Library def = fragment("reg1");
  def.def("f(Tensor x) -> int");
  const OperatorHandle op = findOp("reg1::f");
  Library composite = fragment("reg1");
  composite.impl("f", DispatchKey::CompositeImplicitAutograd, &answer<1>);
  EXPECT_EQ(callAnswer(op, cpuTensor()), 1);
  {
    Library compositeExplicit = fragment("reg1");
    compositeExplicit.impl("f", DispatchKey::CompositeExplicitAutograd, &answer<2>);
    EXPECT_EQ(callAnswer(op, cpuTensor()), 2);
    Library cpu = implBlock("reg1", DispatchKey::CPU);
    cpu.impl("f", &answer<3>);
    EXPECT_EQ(callAnswer(op, cpuTensor()), 3);
    EXPECT_EQ(callAnswer(op, tensorOn(kMeta)), 2);
    Library newer = implBlock("reg1", DispatchKey::CPU);
    newer.impl("f", &answer<4>);
    EXPECT_EQ(callAnswer(op, cpuTensor()), 4) << "the newest registration is in force";
    newer.reset();
    EXPECT_EQ(callAnswer(op, cpuTensor()), 3) << "taking it back restores the one below";
  }
  EXPECT_EQ(callAnswer(op, cpuTensor()), 1);
}

TEST(Registration, WrapperRunsAboveAndRedispatches) {
  Library def = fragment("reg2");
  def.def("f(Tensor x) -> int");
  Library cpu = implBlock("reg2", DispatchKey::CPU);
  cpu.impl("f", &answer<3>);
  Library tracer = implBlock("reg2", DispatchKey::Tracer);
  tracer.impl("f", [](DispatchKeySet ks, const Tensor& x) -> int64_t {
    EXPECT_TRUE(ks.has(DispatchKey::Tracer));
    return 100 + findOp("reg2::f").typed<Answer>().redispatch(ks & DispatchKeySet::fullAfter(DispatchKey::Tracer), x);
  });
  const OperatorHandle op = findOp("reg2::f");
  EXPECT_EQ(callAnswer(op, cpuTensor()), 3);
  IncludeDispatchKeyGuard trace(DispatchKey::Tracer);
  EXPECT_EQ(callAnswer(op, cpuTensor()), 103);
  ExcludeDispatchKeyGuard no_trace(DispatchKey::Tracer);
  EXPECT_EQ(callAnswer(op, cpuTensor()), 3);
}

TEST(Registration, CompositeRunsBelowAutogradUnlessTheBackendHasItsOwn) {
  Library def = fragment("reg3");
  def.def("f(Tensor x) -> int", &answer<1>);
  const OperatorHandle op = findOp("reg3::f");
  const auto table = [&] { return op.dumpComputedTable(); };
  EXPECT_THAT(table(), HasSubstr("AutogradCPU: [fallthrough: composite runs below]"));
  Library autocast = implBlock("reg3", DispatchKey::AutocastCPU);
  autocast.impl("f", &answer<9>);
  {
    IncludeDispatchKeyGuard autograd(DispatchKey::AutogradCPU);
    EXPECT_EQ(callAnswer(op, cpuTensor()), 1);
  }
  Library cpu = implBlock("reg3", DispatchKey::CPU);
  cpu.impl("f", &answer<2>);
  EXPECT_THAT(table(), Not(HasSubstr("AutogradCPU: [fallthrough: composite")))
      << "a CPU kernel changes the Autograd slot that the composite filled";
  EXPECT_THAT(table(), HasSubstr("AutogradMeta: [fallthrough: composite runs below]"));
}

TEST(Registration, AliasesServeTheirSlotsWhereNothingNearerDoes) {
  Library def = fragment("regG");
  def.def("f(Tensor x) -> int", &answer<1>);  // a composite
  const auto table = [] { return findOp("regG::f").dumpComputedTable(); };
  Library autograd = implBlock("regG", DispatchKey::Autograd);
  autograd.impl("f", &answer<2>);
  EXPECT_THAT(table(), HasSubstr("AutogradCPU: [fallthrough: composite runs below]"));
  EXPECT_THAT(table(), Not(HasSubstr("Autograd alias"))) << "the composite's parts define the gradient";
  {
    Library cpu = implBlock("regG", DispatchKey::CPU);
    cpu.impl("f", &answer<3>);
    EXPECT_THAT(table(),
                AllOf(HasSubstr("[Autograd alias]"), HasSubstr("AutogradMeta: [fallthrough: composite runs below]")));
    EXPECT_EQ(findOp("regG::f").typed<Answer>().redispatch(DispatchKeySet({DispatchKey::AutogradCPU, DispatchKey::CPU}),
                                                           cpuTensor()),
              2);
  }
  EXPECT_THAT(table(), Not(HasSubstr("Autograd alias")));

  Library autocast = implBlock("regG", DispatchKey::Autocast);
  autocast.impl("f", &answer<4>);
  for (const char* key : {"AutocastCPU", "AutocastCUDA", "AutocastPrivateUse2"}) {
    const std::string all = table();
    const size_t line = all.find(std::string(key) + ": ");
    ASSERT_NE(line, std::string::npos) << key;
    EXPECT_THAT(all.substr(line, all.find('\n', line) - line), HasSubstr("[Autocast alias]"));
  }
  EXPECT_EQ(findOp("regG::f").typed<Answer>().redispatch(DispatchKeySet(DispatchKey::AutocastCPU), cpuTensor()), 4);
  Library exact = implBlock("regG", DispatchKey::AutocastCPU);
  exact.impl("f", &answer<5>);
  EXPECT_EQ(findOp("regG::f").typed<Answer>().redispatch(DispatchKeySet(DispatchKey::AutocastCPU), cpuTensor()), 5);
}

TEST(Registration, AutogradOtherIsAmbiguousWithACompositeAndABackendKernel) {
  Library def = fragment("reg4");
  def.def("f(Tensor x) -> int", &answer<1>);
  Library vulkan = implBlock("reg4", DispatchKey::Vulkan);
  vulkan.impl("f", &answer<2>);
  EXPECT_THAT(findOp("reg4::f").dumpComputedTable(), HasSubstr("AutogradOther: [ambiguous AutogradOther]"));
  const std::string message = errorOf(
      [] { findOp("reg4::f").typed<Answer>().redispatch(DispatchKeySet(DispatchKey::AutogradOther), cpuTensor()); });
  EXPECT_THAT(message, HasSubstr("ambiguous"));
  Library explicitly = implBlock("reg4", DispatchKey::AutogradOther);
  explicitly.impl("f", &answer<3>);
  EXPECT_EQ(findOp("reg4::f").typed<Answer>().redispatch(DispatchKeySet(DispatchKey::AutogradOther), cpuTensor()), 3);
}

TEST(Registration, FallbackServesEveryOperatorOfTheKey) {
  Library def = fragment("reg5");
  def.def("f(Tensor x) -> int");
  def.def("g(Tensor x, int n=3) -> int");
  std::vector<std::string> seen;
  {
    Library fallback = implBlock("_", DispatchKey::PrivateUse3);
    fallback.fallback(CppFunction::makeFromBoxed([&seen](const OperatorHandle& op, Stack* stack) {
      seen.push_back(op.operator_name().str());
      drop(*stack, op.schema().arguments().size());
      push(*stack, IValue(7));
    }));
    const DispatchKeySet ks(DispatchKey::PrivateUse3);
    EXPECT_EQ(findOp("reg5::f").typed<Answer>().redispatch(ks, cpuTensor()), 7);
    EXPECT_EQ((findOp("reg5::g").typed<int64_t(const Tensor&, int64_t)>().redispatch(ks, cpuTensor(), 1)), 7);
    EXPECT_THAT(seen, testing::ElementsAre("reg5::f", "reg5::g"));
    Library exact = implBlock("reg5", DispatchKey::PrivateUse3);
    exact.impl("f", &answer<5>);
    EXPECT_EQ(findOp("reg5::f").typed<Answer>().redispatch(ks, cpuTensor()), 5) << "specific > fallback";
  }
  EXPECT_THAT(errorOf([] {
                findOp("reg5::f").typed<Answer>().redispatch(DispatchKeySet(DispatchKey::PrivateUse3), cpuTensor());
              }),
              HasSubstr("PrivateUse3"));
}

TEST(Registration, FallthroughIsPerBackend) {
  Library def = fragment("reg6");
  def.def("f(Tensor x) -> int");
  Library cpu = implBlock("reg6", DispatchKey::CPU);
  cpu.impl("f", &answer<1>);
  Library meta = implBlock("reg6", DispatchKey::Meta);
  meta.impl("f", &answer<2>);
  Library autograd_meta = implBlock("reg6", DispatchKey::AutogradMeta);
  autograd_meta.impl("f", CppFunction::makeFallthrough());
  Library autograd_cpu = implBlock("reg6", DispatchKey::AutogradCPU);
  autograd_cpu.impl("f", &answer<3>);
  IncludeDispatchKeyGuard autograd(DispatchKey::AutogradCPU);
  EXPECT_EQ(callAnswer(findOp("reg6::f"), cpuTensor()), 3);
  EXPECT_EQ(callAnswer(findOp("reg6::f"), tensorOn(kMeta)), 2);
}

TEST(Registration, UndefinedSlotServesCallsWithoutTensors) {
  Library def = fragment("reg7");
  def.def("make(int n) -> int", [](int64_t n) { return n + 1; });
  EXPECT_EQ((findOp("reg7::make").typed<int64_t(int64_t)>().call(4)), 5);
}

TEST(Registration, ImplMayComeBeforeDefFromAnyLibrary) {
  Library cpu = implBlock("reg8", DispatchKey::CPU);
  cpu.impl("f", &answer<6>);
  EXPECT_THAT(errorOf([] { findOp("reg8::f"); }), HasSubstr("no definition"));
  Library def = fragment("reg8");
  def.def("f(Tensor x) -> int");
  EXPECT_EQ(callAnswer(findOp("reg8::f"), cpuTensor()), 6);
  Library overload = fragment("reg8");
  cpu.impl("h", &answer<1>);
  EXPECT_THAT(errorOf([] { findOp("reg8::h"); }), Not(HasSubstr("overloads"))) << "its own name is no help";
  overload.def("h.other(Tensor x) -> int");
  EXPECT_THAT(errorOf([] { findOp("reg8::h"); }),
              HasSubstr("reg8::h has no overload without a name, only reg8::h.other"));
  const std::string message = errorOf([] {
    Library early = implBlock("reg8", DispatchKey::CPU);
    early.impl("g", &answer<1>);
    Library late = fragment("reg8");
    late.def("g(Tensor x, Tensor y) -> int");
  });
  EXPECT_THAT(message, HasSubstr("registration_test.cpp"));
  EXPECT_FALSE(Dispatcher::singleton().findOp(OperatorName("reg8::g", ""))) << "nothing is left of either";
}

TEST(Registration, DefWithAKernelInfersTheSchema) {
  Library def = fragment("reg9");
  def.def("f", [](const Tensor& a, Tensor& b, int64_t, const std::optional<Tensor>&, std::array<bool, 3>, IntArrayRef) {
    return std::tuple<Tensor, double>(a, 0.5 * b.numel());
  });
  EXPECT_EQ(findOp("reg9::f").schema().str(),
            "reg9::f(Tensor _0, Tensor(b!) _1, int _2, Tensor? _3, bool[3] _4, int[] _5) -> (Tensor, float)");
}

/// Defines `schema` with kernels for CPU and CUDA in one step.
std::vector<RegistrationHandle> defineWith(const char* schema, CppFunction cpu, CppFunction cuda,
                                           std::source_location where = std::source_location::current()) {
  const KernelForKey kernels[] = {{DispatchKey::CPU, cpu.kernel()}, {DispatchKey::CUDA, cuda.kernel()}};
  return Dispatcher::singleton().registerDef(parseSchema(schema), kernels, where);
}

TEST(Registration, ErrorsLeaveNoTraceAndNameBothPlaces) {
  Library def = fragment("regA");
  def.def("f(Tensor x) -> int");
  Library cpu = implBlock("regA", DispatchKey::CPU);
  cpu.impl("f", &answer<1>);
  const OperatorHandle op = findOp("regA::f");
  const std::string state = op.dumpState(), table = op.dumpComputedTable();
  const auto names = Dispatcher::singleton().getAllOpNames();
  struct Case {
    const char* what;
    std::function<void()> act;
    std::vector<const char*> message;
  };
  const Case cases[] = {
      {"duplicate def",
       [] { fragment("regA").def("f(Tensor x) -> Tensor"); },
       {"twice", "first defined at registration_test.cpp", "now at"}},
      {"wrong signature",
       [] { implBlock("regA", DispatchKey::CPU).impl("f", [](const Tensor&, int64_t) -> int64_t { return 0; }); },
       {"Mismatch in kernel C++ signatures", "first:", "now:"}},
      {"wrong type for the schema",
       [] { implBlock("regA", DispatchKey::CUDA).impl("f", [](const Tensor&) -> double { return 0; }); },
       {"regA::f", "registration_test.cpp"}},
      {"two libraries of a namespace",
       [] {
         Library a(Library::Kind::kDef, "regA_ns");
         Library b(Library::Kind::kDef, "regA_ns");
       },
       {"Only a single TORCH_LIBRARY", "regA_ns"}},
      {"def in an impl block",
       [] { implBlock("regA", DispatchKey::CPU).def("h(Tensor x) -> int"); },
       {"SHUNT_LIBRARY_IMPL"}},
      {"foreign namespace", [] { fragment("regA").def("other::h(Tensor x) -> int"); }, {"other", "regA"}},
      {"unboxed fallback", [] { implBlock("_", DispatchKey::CUDA).fallback(&answer<1>); }, {"boxed"}},
      {"second fallback",
       [] {
         // The first takes the place of the one that Shunt has.
         Library first = implBlock("_", DispatchKey::AutogradCPU);
         first.fallback(CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {}));
         implBlock("_", DispatchKey::AutogradCPU)
             .fallback(CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {}));
       },
       {"multiple backend fallbacks", "registration_test.cpp"}},
      {"fallback for an alias",
       [] { implBlock("_", DispatchKey::Autograd).fallback(CppFunction::makeFallthrough()); },
       {"Autograd", "run-time key"}},
      {"fallback in a named namespace",
       [] { implBlock("regA", DispatchKey::CUDA).fallback(CppFunction::makeFallthrough()); },
       {"SHUNT_LIBRARY_IMPL(_"}},
      {"bad schema", [] { fragment("regA").def("f(Tensr x) -> int"); }, {"Tensr", "^"}},
      {"inferring from a boxed kernel",
       [] { fragment("regA").def("h", CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {})); },
       {"cannot be inferred"}},
      {"kernels of two signatures in one definition",
       [] {
         defineWith("regA::h(Tensor x) -> int", CppFunction(&answer<1>), [](const Tensor&) -> double { return 0; });
       },
       {"Mismatch in kernel C++ signatures of operator regA::h", "CUDA at registration_test.cpp"}},
      {"a later kernel that doesn't fit its definition",
       [] {
         const auto number = [](int64_t) -> int64_t { return 0; };
         defineWith("regA::h(Tensor x) -> int", CppFunction::makeFallthrough(), number);
       },
       {"regA::h", "registration_test.cpp"}},
      {"a name that has a definition, with kernels",
       [] { defineWith("regA::f(Tensor x) -> int", CppFunction(&answer<1>), &answer<2>); },
       {"twice", "first defined at registration_test.cpp"}},
      {"kernel for another key than the block's",
       [] { implBlock("regA", DispatchKey::CPU).impl("f", dispatch(DispatchKey::CUDA, &answer<1>)); },
       {"CUDA", "CPU"}},
      {"typed with another signature", [&] { op.typed<double(const Tensor&)>(); }, {"typed<>()", "asked:", "known:"}},
      {"unknown operator", [] { findOp("regA::nothing"); }, {"regA::nothing", "no such operator"}},
      {"unknown overload", [] { findOp("regA::f", "other"); }, {"regA::f has no overload 'other', only regA::f"}},
      {"missing kernel",
       [&] { callAnswer(op, tensorOn(kMeta)); },
       {"Could not run 'regA::f'", "Meta", "It has kernels for: CPU."}},
  };
  for (const Case& c : cases) {
    const std::string message = errorOf(c.act);
    for (const char* part : c.message) EXPECT_THAT(message, HasSubstr(part)) << c.what;
    EXPECT_EQ(op.dumpState(), state) << c.what;
    EXPECT_EQ(op.dumpComputedTable(), table) << c.what;
    EXPECT_EQ(Dispatcher::singleton().getAllOpNames(), names) << c.what;
  }
  Dispatcher::singleton().checkInvariants();
}

}  // namespace

SHUNT_LIBRARY(regDefault, m) { m.def("f(Tensor x) -> int"); }
SHUNT_LIBRARY_IMPL(regDefault, Default, m) { m.impl("f", &answer<7>); }

namespace {

TEST(Registration, DefaultNamesTheImplicitComposite) {
  EXPECT_EQ(callAnswer(findOp("regDefault::f"), cpuTensor()), 7);
  EXPECT_TRUE(findOp("regDefault::f").hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd));
}

TEST(Registration, AWithdrawnOperatorSaysSo) {
  std::optional<Library> library(fragment("regW"));
  library->def("f(Tensor x) -> int", dispatch(DispatchKey::CPU, &answer<1>));
  const OperatorHandle op = findOp("regW::f");
  const auto typed = op.typed<Answer>();
  EXPECT_EQ(typed.call(cpuTensor()), 1);
  library.reset();
  const auto says = AllOf(HasSubstr("operator regW::f was withdrawn: its definition at registration_test.cpp"),
                          HasSubstr("reset, destroyed or unloaded"));
  EXPECT_THAT(errorOf([&] { typed.call(cpuTensor()); }), says);
  EXPECT_THAT(errorOf([&] {
                Stack stack{cpuTensor()};
                op.callBoxed(&stack);
              }),
              says);
  EXPECT_THAT(errorOf([&] { op.schema(); }), says);
  EXPECT_THAT(errorOf([] { findOp("regW::f"); }), says);
  const Library kernel = [] {
    Library m = implBlock("regW", DispatchKey::CPU);
    m.impl("f", &answer<2>);
    return m;
  }();
  EXPECT_THAT(errorOf([&] { op.schema(); }), says) << "a kernel is no definition";
  Library again = fragment("regW");
  again.def("f(Tensor x) -> int");
  EXPECT_EQ(typed.call(cpuTensor()), 2);
}

int fallback_calls = 0;
template <DispatchKey kKey>
void countAndPassOn(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  ++fallback_calls;
  op.redispatchBoxed(keys & DispatchKeySet::fullAfter(kKey), stack);
}

// The two keys of which PyTorch's own slides show a fallback.
TEST(Registration, AProgramsFallbackStandsAboveTheDefaultOne) {
  const std::string fallbacks = Dispatcher::singleton().dumpFallbacks(),
                    table = findOp("aten::neg").dumpComputedTable();
  const Tensor x = ones({2});
  const auto calls = [&] {
    fallback_calls = 0;
    const AutocastGuard autocast(kCPU);
    EXPECT_EQ(x.neg().sum().item<float>(), -2);
    return fallback_calls;
  };
  EXPECT_EQ(calls(), 0);
  {
    Library m = implBlock("_", DispatchKey::AutocastCPU);
    m.fallback(CppFunction::makeFromBoxedFunction<&countAndPassOn<DispatchKey::AutocastCPU>>());
    EXPECT_GT(calls(), 0);
    EXPECT_THAT(Dispatcher::singleton().dumpFallbacks(), HasSubstr("[fallthrough] (inactive)"));
    EXPECT_THAT(errorOf([] {
                  implBlock("_", DispatchKey::AutocastCPU)
                      .fallback(CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {}));
                }),
                AllOf(HasSubstr("multiple backend fallbacks"), HasSubstr("registration_test.cpp")))
        << "one program's hides no other's";
    Dispatcher::singleton().checkInvariants();
  }
  EXPECT_EQ(calls(), 0);
  {
    Library m = implBlock("_", DispatchKey::BackendSelect);
    m.fallback(CppFunction::makeFromBoxedFunction<&countAndPassOn<DispatchKey::BackendSelect>>());
    EXPECT_GT(calls(), 0);
  }
  EXPECT_EQ(calls(), 0);
  EXPECT_EQ(Dispatcher::singleton().dumpFallbacks(), fallbacks);
  EXPECT_EQ(findOp("aten::neg").dumpComputedTable(), table);
}

// A person finds an entry of the dictionary where the dumps and errors say.
TEST(Registration, TheDictionarysPlacesAreItsYaml) {
  const OperatorHandle op = findOp("aten::sigmoid");
  EXPECT_THAT(op.dumpState(), testing::ContainsRegex("defined at: pointwise.yaml:[1-9][0-9]*\n"));
  EXPECT_THAT(op.dumpState(), testing::ContainsRegex("\nCPU: registered at pointwise.yaml:[1-9][0-9]*\n"));
  EXPECT_THAT(op.dumpState(),
              testing::ContainsRegex("\nAutograd: registered at pointwise_derivatives.yaml:[1-9][0-9]*\n"));
  EXPECT_NE(op.dumpState(), findOp("aten::tanh").dumpState());
  EXPECT_THAT(errorOf([] { fragment("aten").def("sigmoid(Tensor self) -> Tensor"); }),
              HasSubstr("first defined at pointwise.yaml:"));
}

TEST(Registration, ACallRunsInTheWorldItStartedIn) {
  Library def = fragment("regD");
  def.def("f(Tensor x) -> int");
  Library cpu = implBlock("regD", DispatchKey::CPU);
  cpu.impl("f", &answer<1>);
  std::optional<Library> replacement;
  Library tracer = implBlock("regD", DispatchKey::Tracer);
  tracer.impl("f", [&](DispatchKeySet ks, const Tensor& x) -> int64_t {
    replacement.emplace(implBlock("regD", DispatchKey::CPU));
    replacement->impl("f", &answer<2>);
    const OperatorHandle op = findOp("regD::f");
    const int64_t same_world = op.typed<Answer>().redispatch(ks & DispatchKeySet::fullAfter(DispatchKey::Tracer), x);
    ExcludeDispatchKeyGuard no_trace(DispatchKey::Tracer);
    return 10 * same_world + op.typed<Answer>().call(x);
  });
  IncludeDispatchKeyGuard trace(DispatchKey::Tracer);
  EXPECT_EQ(callAnswer(findOp("regD::f"), cpuTensor()), 12)
      << "redispatch runs in the call's world, an operator called inside in the new one";
}

TEST(Registration, AKernelMayTakeItsOwnRegistrationBack) {
  Library def = fragment("regE");
  def.def("f(Tensor x) -> int");
  auto token = std::make_shared<int>(0);
  Library cpu = implBlock("regE", DispatchKey::CPU);
  Library* self = &cpu;
  cpu.impl("f", [self, token](const Tensor&) -> int64_t {
    self->reset();
    Dispatcher::singleton().reclaim();
    return static_cast<int64_t>(token.use_count());  // the functor must still be alive
  });
  EXPECT_GE(callAnswer(findOp("regE::f"), cpuTensor()), 2);
  Dispatcher::singleton().reclaim();
  EXPECT_EQ(token.use_count(), 1) << "and is destroyed once no call uses it";
}

TEST(Registration, RetiredStatesAreFreed) {
  Library def = fragment("regF");
  def.def("f(Tensor x) -> int");
  for (int i = 0; i < 1000; ++i) implBlock("regF", DispatchKey::CPU).impl("f", &answer<1>);
  Dispatcher::singleton().reclaim();
  EXPECT_EQ(Dispatcher::singleton().stats().states_retired, 0u);
}

TEST(Registration, ABatchTakesEffectWhenItEnds) {
  Library def = fragment("regH");
  def.def("f(Tensor x) -> int");
  Library cpu = implBlock("regH", DispatchKey::CPU);
  cpu.impl("f", &answer<1>);
  Library more = implBlock("regH", DispatchKey::CPU);
  {
    const Dispatcher::Batch batch;
    more.impl("f", &answer<2>);
    EXPECT_EQ(callAnswer(findOp("regH::f"), cpuTensor()), 1);
    std::thread([] {
      implBlock("regH", DispatchKey::Meta).impl("f", &answer<3>);
    }).join();  // other threads' are at once
  }
  EXPECT_EQ(callAnswer(findOp("regH::f"), cpuTensor()), 2);
  Dispatcher::singleton().checkInvariants();
}

TEST(Trace, ReportsEveryStepOfACall) {
  Library def = fragment("regG");
  def.def("f(Tensor x) -> int");
  Library cpu = implBlock("regG", DispatchKey::CPU);
  cpu.impl("f", &answer<1>);
  static std::vector<std::string> steps;
  steps.clear();
  set_trace(true, [](const TraceStep& s) {
    steps.push_back(detail::str(s.kind, " ", s.op.operator_name(), " ", s.key, " ", s.reason));
  });
  callAnswer(findOp("regG::f"), cpuTensor());
  set_trace(false);
  EXPECT_THAT(steps, testing::ElementsAre("call regG::f CPU kernel"));
}

}  // namespace
}  // namespace shunt
