// The library's functions that the compiler knows by name: each is there. A renamed one would be no error anywhere, and
// thunks would be slower.
#include "jit/bitcode/library.h"
#include "jit/emit/planned_calls.h"
#include "jit/host/host_symbols.h"
#include "jit/plan/inline_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shunt::jit::test {
namespace {

TEST(KnownNames, ThePolicysAreInTheBitcode) {
  const std::vector<std::string> names = Library::host().names();  // sorted
  for (const std::string& begin : namesThatArePolicy()) {
    const auto found = std::ranges::lower_bound(names, begin);
    EXPECT_TRUE(found != names.end() && found->starts_with(begin)) << begin;
  }
  EXPECT_GE(namesThatArePolicy().size(), 8u);
}

TEST(KnownNames, WhatPlansReplaceIsTheHosts) {
  for (const std::string& name : namesThatAreReplaced()) EXPECT_TRUE(HostSymbols::instance().address(name)) << name;
}

TEST(KnownNames, OperatorsHaveTheirEntryPoints) {
  const std::vector<std::string> names = Library::host().names();
  for (const std::string& entry : entryPointNames()) {
    const std::string name = "_ZN5shunt3ops10add_Tensor" + entry;
    const auto found = std::ranges::lower_bound(names, name);
    EXPECT_TRUE(found != names.end() && found->starts_with(name)) << name;
  }
}

}  // namespace
}  // namespace shunt::jit::test
