// Operators that take a number for a tensor: who serves them, while kernels of the tensor's form come and go.
#include "tests/dispatch/number_forms.h"
#include "tests/dispatch/util.h"
#include "tests/support/same_bits.h"

#include <shunt/core/stand_in.h>
#include <shunt/shunt.h>

#include <atomic>
#include <random>
#include <thread>

namespace shunt {
namespace {

using namespace test;
using test::sameBits;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

OperatorHandle find(const char* name) {
  const std::string all = name;
  const size_t dot = all.find('.');
  return findOp(all.substr(0, dot).c_str(), dot == std::string::npos ? "" : all.substr(dot + 1).c_str());
}

/// A kernel of a dictionary operator, for the scope.
Library overriding(const char* name, DispatchKey key, CppFunction kernel) {
  Library m = implBlock("aten", key);
  m.impl(name + 6, std::move(kernel));
  return m;
}

class NumberForms : public testing::TestWithParam<NumberForm> {};

TEST_P(NumberForms, AreServedByAnOverrideOfTheTensorsForm) {
  const NumberForm& f = GetParam();
  const Tensor x = operandOf(f), before = f.run(x);
  const std::string table = find(f.name).dumpComputedTable();
  {
    Meeting met;
    const Library m = overriding(f.made_of, DispatchKey::CPU, meeting(met));
    EXPECT_EQ(f.run(x).select(0, 2).item<double>(), kMark);
    EXPECT_EQ(met.calls, 1);
    ASSERT_EQ(met.numbers.size(), 1u);
    const Tensor& number = met.numbers[0];
    EXPECT_TRUE(number.unsafeGetTensorImpl()->is_wrapped_number() && number.is_cpu());
    EXPECT_EQ(number.dtype(), kLong);
    EXPECT_EQ(number.item<int64_t>(), 3);
    find(f.name).checkInvariants();
  }
  EXPECT_TRUE(sameBits(f.run(x), before));
  EXPECT_EQ(find(f.name).dumpComputedTable(), table);
  find(f.name).checkInvariants();
}

TEST_P(NumberForms, AreServedSoOnMetaToo) {
  const NumberForm& f = GetParam();
  const Tensor x = operandOf(f).to(TensorOptions(kMeta));
  Meeting met, on_cpu;
  const Library cpu = overriding(f.made_of, DispatchKey::CPU, meeting(on_cpu));
  EXPECT_EQ(f.run(x).sizes(), x.sizes());
  EXPECT_EQ(met.calls + on_cpu.calls, 0) << "Meta has its built-in kernel still";
  const Library m = overriding(f.made_of, DispatchKey::Meta, meeting(met));
  EXPECT_EQ(f.run(x).sizes(), x.sizes());
  EXPECT_EQ(met.calls, 1);
  ASSERT_EQ(met.numbers.size(), 1u);
  EXPECT_TRUE(met.numbers[0].is_cpu()) << "a number comes as a 0-dim CPU tensor to every backend";
}

TEST_P(NumberForms, GiveTheBitsOfTheTensorsForm) {
  const NumberForm& f = GetParam();
  for (ScalarType dtype : {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kBFloat16, kFloat, kDouble}) {
    const Tensor x = arange(16, kLong).sub(5).to(dtype);
    std::optional<Tensor> direct, by_tensor;
    const std::string direct_error = errorOf([&] { direct = f.run(x); }),
                      tensor_error = errorOf([&] { by_tensor = f.with_tensor(x); });
    EXPECT_EQ(direct.has_value(), by_tensor.has_value()) << dtype << ": " << direct_error << " / " << tensor_error;
    if (direct && by_tensor) EXPECT_TRUE(sameBits(*direct, *by_tensor)) << dtype;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NumberForms, testing::ValuesIn(numberForms()), [](const auto& info) {
  std::string name = info.param.name + 6;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

/// Any number of these at a time, in any order; the newest of the operator called first answers.
struct Change {
  const char* op;
  DispatchKey key;
};
constexpr Change kChanges[] = {
    {"aten::add.Tensor", DispatchKey::CPU},         {"aten::add.Tensor", DispatchKey::CPU},
    {"aten::add.Scalar", DispatchKey::CPU},         {"aten::add.Scalar", DispatchKey::CompositeExplicitAutograd},
    {"aten::add.Tensor", DispatchKey::AutocastCPU}, {"aten::add.Tensor", DispatchKey::Meta},
    {"aten::add.Tensor", DispatchKey::AutogradCPU}, {"aten::add.Scalar", DispatchKey::AutocastCPU}};

/// What answers x + 1: an index into kChanges, or -1 for the built-in kernels. `present` is oldest first.
int expectedAnswer(const std::vector<int>& present, bool autocast) {
  const auto newest = [&](const char* op, DispatchKey key) {
    for (auto i = present.rbegin(); i != present.rend(); ++i)
      if (std::string_view(kChanges[*i].op) == op && kChanges[*i].key == key) return *i;
    return -1;
  };
  const std::pair<const char*, DispatchKey> precedence[] = {
      {"aten::add.Scalar", DispatchKey::AutocastCPU},
      {"aten::add.Scalar", DispatchKey::CPU},
      {"aten::add.Scalar", DispatchKey::CompositeExplicitAutograd},
      {"aten::add.Tensor", DispatchKey::AutocastCPU},
      {"aten::add.Tensor", DispatchKey::CPU}};
  for (const auto& [op, key] : precedence)
    if (const int found = newest(op, key); found >= 0 && (autocast || key != DispatchKey::AutocastCPU)) return found;
  return -1;
}

TEST(StandIns, FollowEveryOrderOfRegistrations) {
  const OperatorHandle op = find("aten::add.Scalar");
  const std::string untouched = op.dumpState() + op.dumpComputedTable();
  const Tensor x = arange(4, kFloat);
  std::map<std::vector<int>, std::string> dumps;  // of the sets met, each operator's and key's order included
  std::mt19937 random(1);
  std::map<int, RegistrationHandle> handles;
  std::vector<int> present;
  const auto answer = [&] { return static_cast<int>(x.add(1).select(0, 0).item<float>()) - 1; };  // built in: 0 + 1
  for (int step = 0; step < 2000; ++step) {
    const int i = static_cast<int>(random() % std::size(kChanges));
    if (handles.erase(i) != 0) {
      std::erase(present, i);
    } else {
      const Change& c = kChanges[i];
      const OperatorName name = find(c.op).operator_name();
      const auto kernel =
          c.op == std::string_view("aten::add.Tensor")
              ? CppFunction([i](const Tensor& a, const Tensor&, const Scalar&) { return full_like(a, 100 + i); })
              : CppFunction([i](const Tensor& a, const Scalar&, const Scalar&) { return full_like(a, 100 + i); });
      handles[i] = Dispatcher::singleton().registerImpl(name, c.key, kernel.kernel(), std::source_location::current());
      present.push_back(i);
    }
    const auto got = [](int a) { return a >= 99 ? a - 99 : -1; };
    ASSERT_EQ(got(answer()), expectedAnswer(present, false)) << step << '\n' << op.dumpComputedTable();
    {
      const AutocastGuard autocast(kCPU);
      ASSERT_EQ(got(answer()), expectedAnswer(present, true)) << step << '\n' << op.dumpComputedTable();
    }
    op.checkInvariants();
    find("aten::add.Tensor").checkInvariants();
    std::vector<int> set = present;
    if (handles.contains(0) && handles.contains(1)) {  // the two of one operator and key stand in their order
      const bool swapped = std::find(set.begin(), set.end(), 0) > std::find(set.begin(), set.end(), 1);
      std::sort(set.begin(), set.end());
      set.push_back(swapped ? -1 : -2);
    } else {
      std::sort(set.begin(), set.end());
    }
    const std::string dump = op.dumpState() + op.dumpComputedTable();
    ASSERT_EQ(dumps.emplace(set, dump).first->second, dump);
  }
  handles.clear();
  EXPECT_EQ(op.dumpState() + op.dumpComputedTable(), untouched);
  EXPECT_GT(dumps.size(), 100u);
}

TEST(StandIns, SayInDumpsWhyTheyAreInForce) {
  const OperatorHandle op = find("aten::mul_.Scalar");
  EXPECT_THAT(op.dumpComputedTable(), HasSubstr("\nCPU: pointwise.yaml:"));
  EXPECT_THAT(op.dumpComputedTable(), HasSubstr("[kernel, direct while aten::mul.out has its built-in kernel]\n"));
  EXPECT_THAT(op.dumpComputedTable(),
              testing::ContainsRegex("\nPrivateUse1: pointwise.yaml:[0-9]* .CompositeExplicitAutograd.\n"));
  EXPECT_THAT(op.dumpState(), HasSubstr("[stands in while aten::mul.out has its built-in kernel]\n"));
  Meeting met;
  const Library m = overriding("aten::mul.out", DispatchKey::CPU, meeting(met));
  EXPECT_THAT(op.dumpComputedTable(),
              testing::ContainsRegex("\nCPU: pointwise.yaml:[0-9]* .CompositeExplicitAutograd, where aten::mul.out's "
                                     "built-in kernel isn't the one in force.\n"));
  EXPECT_THAT(op.dumpComputedTable(), testing::ContainsRegex("\nMeta: [^\n]*direct while aten::mul.out"));
}

TEST(StandIns, LeaveGradientsToTheNumbersForm) {
  Tensor x = arange(4, kFloat).requires_grad_();
  int at_autograd = 0;
  // PyTorch's add.Scalar has a formula of its own, and runs its composite below Autograd.
  const Library autograd = overriding("aten::add.Tensor", DispatchKey::AutogradCPU,
                                      CppFunction([&](const Tensor& a, const Tensor&, const Scalar&) {
                                        ++at_autograd;
                                        return a.clone();
                                      }));
  EXPECT_THAT(find("aten::add.Scalar").dumpComputedTable(), HasSubstr("direct while aten::add.Tensor"));
  Meeting met;
  const Library m = overriding("aten::add.Tensor", DispatchKey::CPU, meeting(met));
  const Tensor y = x.add(1);
  EXPECT_EQ(met.calls, 1);
  EXPECT_EQ(at_autograd, 0);
  ASSERT_NE(y.grad_fn(), nullptr);
  EXPECT_EQ(y.grad_fn()->name(), "AddBackward1") << "its own, whoever computes";
  y.backward(full_like(y, 2));
  EXPECT_EQ(x.grad().select(0, 3).item<float>(), 2);
}

TEST(StandIns, CountOneVersionAndReturnWhatTheyWrite) {
  Tensor x = arange(4, kFloat), view = x.slice(0, 1, 3);
  const auto versions = [&] {
    const uint32_t before = x._version();
    EXPECT_TRUE(view.add_(1).is_same(view));
    EXPECT_TRUE(view.mul_(2).is_same(view));
    return x._version() - before;
  };
  EXPECT_EQ(versions(), 2u);
  Meeting met;
  const Library add = overriding("aten::add_.Tensor", DispatchKey::CPU, meeting(met)),
                mul = overriding("aten::mul.out", DispatchKey::CPU, meeting(met));
  EXPECT_EQ(versions(), 2u);
  EXPECT_EQ(met.calls, 2);
  EXPECT_EQ(x.select(0, 1).item<float>(), kMark);
}

TEST(StandIns, NameTheOperatorThatWasCalled) {
  Tensor none;
  EXPECT_THAT(errorOf([&] { none.mul_(2); }), HasSubstr("mul_(): argument 'self' (position 1) is an undefined tensor"));
  EXPECT_THAT(errorOf([&] { rsub(none, 2); }),
              HasSubstr("rsub(): argument 'self' (position 1) is an undefined tensor"));
}

TEST(StandIns, AreSeenByAModeAsTheCallThatTheUserMade) {
  struct Seeing : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      seen.push_back(op.operator_name().str());
      op.callBoxed(stack);
    }
    std::vector<std::string> seen;
  } mode;
  Meeting met;
  const Library m = overriding("aten::add.Tensor", DispatchKey::CPU, meeting(met));
  const Tensor x = arange(4, kFloat);
  {
    const DispatchModeGuard guard(mode);
    x.add(1);
  }
  EXPECT_THAT(mode.seen, ElementsAre("aten::add.Scalar"));
  EXPECT_EQ(met.calls, 1);
}

TEST(StandIns, WaitForKernelsOfOperatorsWithoutAny) {
  const auto where = std::source_location::current();
  const auto by_number = KernelFunction::fromFunctor([](const Tensor& a, const Scalar&, const Scalar&) { return a; });
  const auto by_tensor = KernelFunction::fromFunctor([](const Tensor& a, const Tensor&, const Scalar&) { return a; });
  const auto tryFor = [&](const char* name, DispatchKey key, const char* other, const void* built_in) {
    const KernelFunction& kernel = std::string_view(name).ends_with("Scalar") ? by_number : by_tensor;
    const StandIn as{&find(other).op(), built_in, &where};
    return errorOf([&] { registerStandIn(find(name).operator_name(), key, kernel, as, where); });
  };
  EXPECT_THAT(tryFor("aten::sub.Scalar", DispatchKey::AutocastCPU, "aten::add.Tensor", &where),
              AllOf(HasSubstr("aten::sub.Scalar"), HasSubstr("a backend's key; got AutocastCPU")));
  EXPECT_THAT(tryFor("aten::sub.Scalar", DispatchKey::CPU, "aten::add.Tensor", nullptr),
              AllOf(HasSubstr("aten::sub.Scalar"), HasSubstr("the two kernels that it waits for")));
  EXPECT_THAT(tryFor("aten::sub.Scalar", DispatchKey::CPU, "aten::add.Scalar", &where),
              AllOf(HasSubstr("aten::sub.Scalar: a stand-in of it can't wait for aten::add.Scalar"),
                    HasSubstr("stand_in_test.cpp")));
  EXPECT_THAT(tryFor("aten::add.Tensor", DispatchKey::CPU, "aten::mul.Tensor", &where),
              HasSubstr("both stand-ins and followers"));
  for (const char* name : {"aten::sub.Scalar", "aten::add.Tensor"})
    EXPECT_THAT(find(name).dumpState(), Not(HasSubstr("stand_in_test"))) << "nothing is half registered";
}

// Overrides come and go while other threads call. Whoever has met an override by add.Tensor meets it by x + 1, too,
// unless it has begun to go.
TEST(StandIns, AreNeverMetByWhoHasMetAnOverride) {
  std::atomic<int> going{0};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, met_both{0};
  const auto caller = [&] {
    const Tensor x = zeros({4});
    while (!stop.load()) {
      const int by_tensor = static_cast<int>(x.add(x).select(0, 0).item<float>());
      const int by_number = static_cast<int>(x.add(-1).select(0, 0).item<float>());
      if (by_tensor > 0 && by_number < by_tensor && going.load() < by_tensor) wrong.fetch_add(1);
      if (by_tensor > 0 && by_number == by_tensor) met_both.fetch_add(1);
    }
  };
  std::thread callers[] = {std::thread(caller), std::thread(caller)};
  for (int n = 1; n <= 200 || (met_both.load() < 100 && n < 100'000); ++n) {
    const Library m =
        overriding("aten::add.Tensor", DispatchKey::CPU,
                   CppFunction([n](const Tensor& a, const Tensor&, const Scalar&) { return full_like(a, n); }));
    std::this_thread::yield();
    going.store(n);
  }
  stop.store(true);
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GE(met_both.load(), 100);
}

}  // namespace
}  // namespace shunt
