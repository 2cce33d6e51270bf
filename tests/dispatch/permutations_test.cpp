// Any order in which kernels, fallbacks and the definition are registered and taken back gives the same tables.
#include "tests/dispatch/util.h"

#include <shunt/shunt.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace shunt {
namespace {

using namespace test;
using testing::HasSubstr;

// One registration of a permuted set. `group` tells which of them are ordered among each other: kernels of one key.
struct Step {
  std::string group;
  std::function<RegistrationHandle()> act;
};

Step implStep(const OperatorName& name, DispatchKey key, CppFunction kernel,
              std::source_location where = std::source_location::current()) {
  return {toString(key), [=] { return Dispatcher::singleton().registerImpl(name, key, kernel.kernel(), where); }};
}

Step defStep(const char* schema, std::source_location where = std::source_location::current()) {
  return {"def", [=] { return Dispatcher::singleton().registerDef(parseSchema(schema), where); }};
}

Step fallbackStep(DispatchKey key, CppFunction kernel, std::source_location where = std::source_location::current()) {
  return {detail::str("fallback for ", key),
          [=] { return Dispatcher::singleton().registerFallback(key, kernel.kernel(), where); }};
}

/// Registers `steps` in every order and takes each back in every order: what is registered (with the order inside each
/// group) alone decides all dumps. Returns how many such sets were met.
size_t permute(const OperatorHandle& op, const std::vector<Step>& steps) {
  std::map<std::string, std::string> dump_of_set;
  std::vector<size_t> present;  // oldest first
  const auto check = [&] {
    std::map<std::string, std::string> groups;
    for (size_t i : present) groups[steps[i].group] += std::to_string(i);
    std::string set;
    for (const auto& [group, members] : groups) set += group + members + " ";
    const std::string dump = op.dumpState() + op.dumpComputedTable() + Dispatcher::singleton().dumpFallbacks();
    EXPECT_EQ(dump_of_set.emplace(set, dump).first->second, dump) << "registered: " << set;
    op.checkInvariants();
  };
  std::vector<size_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  do {
    std::vector<size_t> removal(steps.size()), before;
    std::iota(removal.begin(), removal.end(), 0);
    do {
      std::map<size_t, RegistrationHandle> handles;
      present.clear();
      for (size_t i : order) {
        handles[i] = steps[i].act();
        present.push_back(i);
        if (before.empty()) check();
      }
      const auto same = std::mismatch(before.begin(), before.end(), removal.begin()).first - before.begin();
      for (size_t k = 0; k < removal.size(); ++k) {
        handles.erase(removal[k]);
        std::erase(present, removal[k]);
        if (static_cast<ptrdiff_t>(k) >= same) check();  // the same way until there was checked a moment ago
      }
      before = removal;
    } while (std::next_permutation(removal.begin(), removal.end()));
  } while (std::next_permutation(order.begin(), order.end()));
  return dump_of_set.size();
}

TEST(Registration, EveryPermutationOfKernelsGivesEqualDumps) {
  Library def = fragment("regB");
  def.def("f(Tensor x) -> int");
  const OperatorHandle op = findOp("regB::f");
  const OperatorName name = op.operator_name();
  EXPECT_EQ(
      permute(op, {implStep(name, DispatchKey::CPU, &answer<1>), implStep(name, DispatchKey::Autograd, &answer<2>),
                   implStep(name, DispatchKey::CompositeImplicitAutograd, &answer<3>),
                   implStep(name, DispatchKey::AutocastCPU, &answer<4>),
                   implStep(name, DispatchKey::AutogradMeta, CppFunction::makeFallthrough())}),
      32u);
}

TEST(Registration, EveryPermutationWithTheDefinitionAndTwoKernelsOfAKeyGivesEqualDumps) {
  const OperatorName name("regF::f", "");
  std::optional<OperatorHandle> op;
  {
    Library def = fragment("regF");
    def.def("f(Tensor x) -> int");
    op = findOp("regF::f");
  }
  EXPECT_EQ(permute(*op, {defStep("regF::f(Tensor x) -> int"), implStep(name, DispatchKey::CPU, &answer<1>),
                          implStep(name, DispatchKey::CPU, &answer<2>),
                          implStep(name, DispatchKey::CompositeExplicitAutograd, &answer<3>),
                          implStep(name, DispatchKey::AutogradCPU, &answer<4>)}),
            40u)
      << "8 sets of the others, times 5: neither, either, and both CPU kernels in two orders";
  EXPECT_THAT(op->dumpState(), HasSubstr("schema: (none)"));
}

// Apart and smaller: a fallback changes the table of every operator there is.
TEST(Registration, EveryPermutationWithAFallbackGivesEqualDumps) {
  Library def = fragment("regG");
  def.def("f(Tensor x) -> int");
  const OperatorHandle op = findOp("regG::f");
  const OperatorName name = op.operator_name();
  EXPECT_EQ(permute(op, {fallbackStep(DispatchKey::PrivateUse3,
                                      CppFunction::makeFromBoxed([](const OperatorHandle&, Stack*) {})),
                         implStep(name, DispatchKey::CompositeExplicitAutograd, &answer<1>),
                         implStep(name, DispatchKey::PrivateUse3, &answer<2>)}),
            8u);
}

}  // namespace
}  // namespace shunt
