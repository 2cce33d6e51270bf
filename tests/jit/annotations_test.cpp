// The roles that the library's sources annotate its functions with: each that the compiler knows is in use. One that no
// function has any more would be no error anywhere, and thunks would be slower.
#include "jit/bitcode/library.h"
#include "jit/emit/planned_calls.h"
#include "jit/host/host_symbols.h"
#include "jit/plan/inline_policy.h"

#include <shunt/core/missed_call.h>
#include <shunt/core/op_state.h>
#include <shunt/ops.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace shunt::jit::test {
namespace {

const HostSymbols& symbols() { return HostSymbols::instance(); }

TEST(Annotations, FunctionsWithThePolicysRolesAreInTheBitcode) {
  const std::vector<std::string> names = Library::host().names();
  ASSERT_GE(rolesOfPolicy().size(), 3u);
  for (const std::string& role : rolesOfPolicy())
    EXPECT_TRUE(std::ranges::any_of(names, [&](const std::string& n) { return symbols().annotation(n) == role; }))
        << role;
}

TEST(Annotations, FunctionsWithoutOneHaveNone) {
  EXPECT_EQ(symbols().annotation("_ZN5shunt6detail12plannedStateERKNS_8OperatorE"), "");
  EXPECT_EQ(symbols().annotation("nothing of that name"), "");
  EXPECT_EQ(symbols().annotated("call:aten::no_such_operator"), "");
}

TEST(Annotations, EveryOperatorHasItsEntryPoints) {
#define SHUNT_OPERATOR(X)                                                                                     \
  for (const std::string& role : entryPointRoles()) {                                                         \
    std::string op = std::string(ops::X::name) + (*ops::X::overload_name ? "." : "") + ops::X::overload_name; \
    const std::string name(symbols().annotated(role + ":" + op));                                             \
    EXPECT_TRUE(Library::host().has(name)) << role << ' ' << op;                                              \
    EXPECT_EQ(symbols().annotation(name), role + ":" + op);                                                   \
  }
#include "generated/operator_list.inc"
#undef SHUNT_OPERATOR
}

TEST(Annotations, AnEntryPointIsTheOperatorsOwn) {
  const std::string call(symbols().annotated("call:aten::add.Tensor"));
  EXPECT_EQ(symbols().address(call), reinterpret_cast<uint64_t>(&ops::add_Tensor::call));
}

// What plans replace is found by address.
TEST(Annotations, WhatPlansReplaceHasAName) {
  EXPECT_TRUE(symbols().name(reinterpret_cast<uint64_t>(&detail::plannedState)));
  EXPECT_TRUE(symbols().name(reinterpret_cast<uint64_t>(&detail::plannedKeys)));
  EXPECT_TRUE(symbols().name(reinterpret_cast<uint64_t>(&detail::plannedValidity)));
  EXPECT_TRUE(symbols().name(reinterpret_cast<uint64_t>(&detail::plannedMisses)));
}

}  // namespace
}  // namespace shunt::jit::test
