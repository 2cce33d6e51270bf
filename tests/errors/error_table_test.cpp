// Bad input of every kind: a shunt::Error that says what is wrong, and nothing has changed.
#include "tests/errors/bed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <set>

namespace shunt::testing {
namespace {

using ::testing::HasSubstr;

struct Thrown {
  bool is_error = false;  // a shunt::Error
  std::string message;    // or what happened instead
};

Thrown thrownBy(const BadInput& row, Bed& bed) {
  try {
    row.run(bed);
  } catch (const Error& e) {
    return {true, e.what()};
  } catch (const std::exception& e) {
    return {false, detail::str("not a shunt::Error: ", e.what())};
  }
  return {false, "no error"};
}

void expectUnchanged(const State& before, const State& after) {
  for (const auto& [name, text] : before)
    if (const auto it = after.find(name); it == after.end() || it->second != text)
      ADD_FAILURE() << "changed: " << name << "\n  before: " << text
                    << "\n  after:  " << (it == after.end() ? "gone" : it->second);
  for (const auto& [name, text] : after) EXPECT_TRUE(before.contains(name)) << "new: " << name << ": " << text;
}

/// The generator has not drawn: the next numbers are those that follow the seed.
std::string nextNumbers() { return detail::str(shunt::randint(1 << 30, {4})); }

class BadInputTable : public ::testing::TestWithParam<std::vector<BadInput> (*)()> {
 protected:
  void check(const BadInput& row, bool whole_registry) {
    SCOPED_TRACE(row.name);
    manual_seed(7);
    const std::string numbers = nextNumbers();
    manual_seed(7);
    Bed bed;
    if (row.prepare) row.prepare(bed);
    const State registry = whole_registry ? registryState() : State();
    const State before = stateOf(bed);
    const auto [is_error, message] = thrownBy(row, bed);
    if (std::getenv("SHUNT_TEST_VERBOSE")) std::cout << "== " << row.name << ": " << message << "\n";
    expectUnchanged(before, stateOf(bed));
    if (whole_registry) expectUnchanged(registry, registryState());
    EXPECT_EQ(nextNumbers(), numbers) << "the default generator was used";
    EXPECT_FALSE(row.parts.empty()) << "a row says what its message holds";
    EXPECT_TRUE(is_error) << message;
    for (const std::string& part : row.parts) EXPECT_THAT(message, HasSubstr(part));
  }
};

TEST_P(BadInputTable, ThrowsAClearErrorAndChangesNothing) {
  const bool registry = GetParam() == &registryCases;
  const State whole = registryState();
  std::set<std::string> names;
  for (const BadInput& row : GetParam()()) {
    EXPECT_TRUE(names.insert(row.name).second) << "two rows named " << row.name;
    check(row, registry);
  }
  expectUnchanged(whole, registryState());
  Dispatcher::singleton().checkInvariants();
}

constexpr const char* kTables[] = {"Registry", "Operands", "Shapes",   "Linalg", "Autograd",   "Factories", "Devices",
                                   "Modes",    "Data",     "Wrappers", "Trace",  "Transforms", "Networks"};
INSTANTIATE_TEST_SUITE_P(All, BadInputTable,
                         ::testing::Values(&registryCases, &operandCases, &shapeCases, &linalgCases, &autogradCases,
                                           &factoryCases, &deviceCases, &modeCases, &dataCases, &wrapperCases,
                                           &traceCases, &vmapCases, &networkCases),
                         [](const auto& info) { return kTables[info.index]; });

TEST(BadInputTables, HoldManyRows) {
  size_t rows = 0;
  for (auto* table : {&registryCases, &operandCases, &shapeCases, &linalgCases, &autogradCases, &factoryCases,
                      &deviceCases, &modeCases, &dataCases, &wrapperCases, &traceCases, &vmapCases, &networkCases})
    rows += table().size();
  EXPECT_GE(rows, 480u);
}

// Whatever their text says: a part of a row may stand in it.
TEST(BadInputTables, WantShuntsError) {
  Bed bed;
  EXPECT_FALSE(
      thrownBy({"another", {}, [](Bed&) { throw std::runtime_error("add: 'self' is undefined"); }}, bed).is_error);
  EXPECT_FALSE(thrownBy({"none", {}, [](Bed&) {}}, bed).is_error);
  EXPECT_TRUE(thrownBy({"ours", {}, [](Bed& b) { shunt::add(b.undefined, b.a); }}, bed).is_error);
}

// Without the state's comparison the tables would pass on calls that change things: it does see each kind of change.
TEST(BadInputTables, SeeChanges) {
  const std::vector<std::pair<const char*, std::function<void(Bed&)>>> changes = {
      {"a", [](Bed& bed) { bed.a.add_(0); }},
      {"a", [](Bed& bed) { bed.a.data().fill_(9); }},
      {"a", [](Bed& bed) { bed.a.requires_grad_(); }},
      {"b", [](Bed& bed) { bed.b.resize_({4, 2}); }},
      {"leaf", [](Bed& bed) { bed.graph.sum().backward(); }},
      {"x", [](Bed& bed) { bed.x = bed.a; }},
      {"operator states published", [](Bed& bed) { bed.kernels.impl("no_kernel", [](const Tensor& x) { return x; }); }},
      {"thread", [](Bed&) { manual_seed(99); }},
  };
  for (const auto& [name, change] : changes) {
    manual_seed(7);
    Bed bed;
    const State before = stateOf(bed);
    change(bed);
    EXPECT_NE(before.at(name), stateOf(bed).at(name)) << name;
  }
}

}  // namespace
}  // namespace shunt::testing
