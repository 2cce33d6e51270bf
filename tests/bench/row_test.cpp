// Rows of benchmark tables: which of them count as missed, and what they print.
#include "bench/thunks/row.h"
#include "bench/calls/bars.h"
#include "bench/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bench {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Row row(double measured, double most, std::string note = "") { return {"a bar", measured, most, std::move(note)}; }

Row onAnotherCpu(double measured) {
  Row out = row(measured, 1, "no AVX-512");
  out.lack = Lack::kInstructions;
  return out;
}

/// How many more rows count as missed once this one was printed.
int missesOf(const Row& r) {
  const int before = missed();
  printRow(r);
  return missed() - before;
}

TEST(Verdict, AFigureIsHeldUpToItsBar) {
  EXPECT_EQ(judge(0.9, 1), Verdict::kHeld);
  EXPECT_EQ(judge(1, 1), Verdict::kHeld);
  EXPECT_EQ(judge(1.001, 1), Verdict::kMissed);
  EXPECT_EQ(judge(-3, 0), Verdict::kHeld);
}

TEST(Verdict, NoFigureCountsAsMissedButForTheCpu) {
  EXPECT_EQ(judge(kNoFigure, 1), Verdict::kNotMeasured);
  EXPECT_EQ(judge(kNoFigure, 1, Lack::kInstructions), Verdict::kNotOnThisCpu);
  EXPECT_EQ(judge(kNoFigure, 1, Lack::kLibtorch), Verdict::kNoLibtorch);
  EXPECT_TRUE(countsAsMissed(Verdict::kMissed));
  EXPECT_TRUE(countsAsMissed(Verdict::kNotMeasured));
  EXPECT_FALSE(countsAsMissed(Verdict::kHeld));
  EXPECT_FALSE(countsAsMissed(Verdict::kNotOnThisCpu));
  EXPECT_FALSE(countsAsMissed(Verdict::kNoLibtorch));
}

/// SHUNT_BENCH_LIBTORCH as bench/bars sets it, or unset, while it lives.
class SystemsLibtorch {
 public:
  explicit SystemsLibtorch(const char* value) {
    if (value != nullptr)
      setenv("SHUNT_BENCH_LIBTORCH", value, 1);
    else
      unsetenv("SHUNT_BENCH_LIBTORCH");
  }
  ~SystemsLibtorch() { unsetenv("SHUNT_BENCH_LIBTORCH"); }
};

TEST(Verdict, LibtorchIsLackingOnlyWhereItCannotBeInstalled) {
  {
    const SystemsLibtorch unknown(nullptr);
    EXPECT_EQ(lackOfLibtorch(), Lack::kNothing);
  }
  const SystemsLibtorch none("none");
  EXPECT_EQ(lackOfLibtorch(), Lack::kLibtorch);
}

TEST(Verdict, OfCallsAgainstLibtorch) {
  const Bar against{"a bar", "add", Side::kInterpreted, "add", Side::kLibtorch, 0.5};
  const Bar nanoseconds{"a bar", "add", Side::kInterpreted, "", Side::kLibtorch, 0.5};
  {
    const SystemsLibtorch unknown(nullptr);
    EXPECT_EQ(verdictOf(against, kNoFigure), Verdict::kNotMeasured);
  }
  const SystemsLibtorch none("none");
  EXPECT_EQ(verdictOf(against, kNoFigure), Verdict::kNoLibtorch);
  EXPECT_EQ(verdictOf(against, 0.6), Verdict::kMissed) << "libtorch was there all the same";
  EXPECT_EQ(verdictOf(against, 0.4), Verdict::kHeld);
  EXPECT_EQ(verdictOf(nanoseconds, kNoFigure), Verdict::kNotMeasured);
}

TEST(Row, PrintingCountsWhatIsMissed) {
  EXPECT_EQ(missesOf(row(0.5, 1)), 0);
  EXPECT_EQ(missesOf(row(1.5, 1)), 1);
  EXPECT_EQ(missesOf(row(kNoFigure, 1, "libtorch was not found")), 1);
  EXPECT_EQ(missesOf(onAnotherCpu(kNoFigure)), 0);
  Row without_libtorch = row(kNoFigure, 1);
  without_libtorch.lack = Lack::kLibtorch;
  EXPECT_EQ(missesOf(without_libtorch), 0);
  EXPECT_THAT(textOf(without_libtorch), EndsWith("1.000  no libtorch 1.13 on this system"));
}

TEST(Row, SaysWhyThereIsNoFigure) {
  EXPECT_THAT(textOf(row(kNoFigure, 1.25, "no valgrind")), EndsWith("1.250  NOT MEASURED: no valgrind"));
  EXPECT_THAT(textOf(onAnotherCpu(kNoFigure)), EndsWith("1.000  not on this CPU: no AVX-512"));
  EXPECT_THAT(textOf(onAnotherCpu(kNoFigure)), Not(HasSubstr("MISSED")));
}

TEST(Row, DefaultSettingsStandBesideAndAreNotJudged) {
  Row r = row(0.5, 1, "so many ns");
  EXPECT_THAT(textOf(r), EndsWith("0.500          -    1.000  ok      so many ns"));
  r.by_default = 7;
  EXPECT_THAT(textOf(r), EndsWith("0.500      7.000    1.000  ok      so many ns"));
  EXPECT_EQ(missesOf(r), 0);
  r.measured = 2;
  r.by_default = 0.1;
  EXPECT_THAT(textOf(r), EndsWith("2.000      0.100    1.000  MISSED  so many ns"));
  EXPECT_EQ(missesOf(r), 1);
}

TEST(Row, ColumnsStandBelowTheirNames) {
  const std::string header = headerText(), text = textOf(row(0.5, 1));
  for (const auto& [name, value] : {std::pair{"measured", "0.500"}, {"by default", "-"}, {"at most", "1.000"}})
    EXPECT_EQ(header.find(name) + std::string(name).size(), text.find(value, 20) + std::string(value).size()) << name;
}

}  // namespace
}  // namespace bench
