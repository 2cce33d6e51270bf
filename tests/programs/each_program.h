// Tests over random programs: a thousand of them, three hundred under a sanitizer, ten thousand in a long run, or the
// one that SHUNT_TEST_PROGRAM names.
#pragma once

#include "src/tensor/stress.h"
#include "tests/programs/program.h"
#include "tests/support/seed.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace programs {

class EachProgram : public testing::Test {
 protected:
#ifdef SHUNT_STRESS
  static constexpr uint64_t kPrograms = 300, kLongPrograms = 10000;
#else
  static constexpr uint64_t kPrograms = 1000, kLongPrograms = 10000;
#endif

  /// `seed`: of the programs at a landing.
  explicit EachProgram(uint64_t seed) : seed_(seed) {}

  /// Whether there is but one, so that nothing can be expected of their number.
  static bool isOne() { return std::getenv("SHUNT_TEST_PROGRAM") != nullptr; }

  /// `check(program, expected)` gives the first difference, for each program; `expected` is what it does plainly.
  template <class F>
  void forEach(F&& check) {
    const uint64_t seed = shunt::test::seedOfComparison(seed_);
    const uint64_t many = isOne() ? 1 : shunt::test::longRun() ? kLongPrograms : kPrograms;
    const uint64_t first =
        isOne() ? std::strtoull(std::getenv("SHUNT_TEST_PROGRAM"), nullptr, 10) : seed * kLongPrograms + 1;
    std::cout << "SHUNT_TEST_SEED=" << seed << ": programs " << first << " to " << first + many - 1 << std::endl;
    int shown = 0;
    for (uint64_t i = 0; i < many; ++i) {
      Outcome expected;
      const Program program = draw(first + i, &expected);
      std::string difference;
      try {
        difference = check(program, expected);
      } catch (const std::exception& e) {
        difference = e.what();
      }
      if (difference.empty()) continue;
      ADD_FAILURE() << "program " << first + i << ": " << difference << "\n" << program.code();
      if (++shown == 5) FAIL() << "and perhaps more";
    }
  }

 private:
  const uint64_t seed_;
};

}  // namespace programs
