// What bin/shunt says of names that it doesn't know, whole.
#include "tests/tools/cli.h"

#include <gtest/gtest.h>

namespace shunt {
namespace {

using test::bad;
using test::good;
using test::withHelp;
using test::wrong;

const std::string kProgram = PROFILED_PROGRAM;

TEST(UnknownCommand, NamesThoseThatAreNear) {
  EXPECT_EQ(wrong("explian mm"), withHelp("unknown command 'explian'; did you mean 'explain'?", "shunt"));
  EXPECT_EQ(wrong("cache lst"),
            withHelp("unknown command 'lst' of 'shunt cache'; did you mean 'list'?", "shunt cache"));
  EXPECT_EQ(
      wrong("surprise"),
      withHelp(
          "unknown command 'surprise'; there are ops, dump, explain, bench, run, profile, stats, graph, cache, info",
          "shunt"));
  EXPECT_EQ(wrong("stats a.json b.json"), withHelp("'shunt stats' takes no further argument 'b.json'", "shunt stats"));
  const std::string all = "name a command: ops, dump, explain, bench, run, profile, stats, graph, cache, info";
  for (const char* none : {"", "--", "--library x.so"}) EXPECT_EQ(wrong(none), withHelp(all, "shunt")) << none;
  EXPECT_EQ(wrong("cache list verify"),
            withHelp("'shunt cache list' takes no further argument 'verify'", "shunt cache list"));
}

TEST(UnknownOption, NamesThoseThatAreNear) {
  EXPECT_EQ(wrong("--libary x.so ops"), withHelp("unknown option '--libary'; did you mean '--library'?", "shunt"));
  EXPECT_EQ(wrong("stats a.json --jsn"),
            withHelp("unknown option '--jsn' of 'shunt stats'; did you mean '--json'?", "shunt stats"));
  EXPECT_EQ(wrong("stats --jsn"),
            withHelp("unknown option '--jsn' of 'shunt stats'; did you mean '--json'?", "shunt stats"));
  EXPECT_EQ(wrong("explain mm --no_grad"),
            withHelp("unknown option '--no_grad' of 'shunt explain'; did you mean '--no-grad'?", "shunt explain"));
  EXPECT_EQ(wrong("cache list --directry=/tmp"),
            withHelp("unknown option '--directry=/tmp' of 'shunt cache list'; did you mean '--directory'?",
                     "shunt cache list"));
  EXPECT_EQ(wrong("cache verify --json"),
            withHelp("unknown option '--json' of 'shunt cache verify'", "shunt cache verify"));
  EXPECT_EQ(wrong("ops --quux"), withHelp("unknown option '--quux' of 'shunt ops'", "shunt ops"));
}

TEST(UnknownOperator, NamesThoseThatAreNear) {
  EXPECT_EQ(bad("dump addmn"),
            "shunt: Could not find schema for aten::addmn: there is no such operator; did you mean 'aten::addmm' or "
            "'aten::add' or 'aten::add_'?\n");
  EXPECT_EQ(bad("dump atne::addmm"),
            "shunt: Could not find schema for atne::addmm: there is no such operator, nor any other in the namespace "
            "'atne'; did you mean 'aten::addmm'?\n"
            "If a library of yours defines it, name its shared object: --library FILE\n");
  EXPECT_EQ(
      bad("dump my::cube"),
      "shunt: Could not find schema for my::cube: there is no such operator, nor any other in the namespace 'my'\n"
      "If a library of yours defines it, name its shared object: --library FILE\n");
  EXPECT_EQ(bad("dump mm.Tensor"),
            "shunt: Could not find schema for aten::mm.Tensor: aten::mm has no overload 'Tensor', only aten::mm, "
            "aten::mm.out\n");
  EXPECT_EQ(
      bad("dump mm.oot"),
      "shunt: Could not find schema for aten::mm.oot: aten::mm has no overload 'oot', only aten::mm, aten::mm.out; "
      "did you mean 'aten::mm.out'?\n");
}

TEST(OperatorName, ThatIsNone) {
  EXPECT_EQ(wrong("dump mm..x"),
            withHelp("'mm..x' is no name of an operator: expected an overload name after '.', found "
                     "'.' at column 10:\n  aten::mm..x\n           ^",
                     "shunt dump"));
  EXPECT_EQ(wrong("explain ''"), withHelp("the name of the operator is empty", "shunt explain"));
}

/// What run says of a value of an option.
std::string inRun(const std::string& message) { return withHelp(message, "shunt run"); }

TEST(OptionValue, NamesTheOptionTheValueAndWhatIsExpected) {
  for (const std::string value : {"x", "0", "-1", "1.5", "4097", "99999999999999999999", "./s"})
    EXPECT_EQ(wrong("run --threads " + value + " " + kProgram),
              inRun("option '--threads': expected a whole number from 1 to 4096, got '" + value + "'"));
  EXPECT_EQ(wrong("run --threads ./s"), inRun("option '--threads': expected a whole number from 1 to 4096, got './s'"));
  EXPECT_EQ(wrong("run --log warnin " + kProgram),
            inRun("option '--log': expected error, warning, info or debug, got 'warnin'; did you mean 'warning'?"));
  EXPECT_EQ(wrong("run --log nonsense " + kProgram),
            inRun("option '--log': expected error, warning, info or debug, got 'nonsense'"));
  EXPECT_EQ(wrong("run --isa ./s"), inRun("option '--isa': expected baseline, v3 or v4, got './s'"));
  EXPECT_EQ(wrong("run --isa v5 " + kProgram),
            inRun("option '--isa': expected baseline, v3 or v4, got 'v5'; did you mean 'v3' or 'v4'?"));
  EXPECT_EQ(wrong("run --isa '' " + kProgram), inRun("option '--isa': expected baseline, v3 or v4, got ''"));
  EXPECT_EQ(wrong("run --cache " + kProgram),
            inRun("option '--cache': expected on, off or a directory, got '" + kProgram + "', a file"));
  EXPECT_EQ(wrong("run --report '' " + kProgram), inRun("option '--report': expected a file name, got ''"));
  EXPECT_EQ(wrong("run --report / " + kProgram),
            inRun("option '--report': expected a file name, got '/', a directory"));
  EXPECT_EQ(
      wrong("profile --trace /nowhere/x.json " + kProgram),
      withHelp("option '--trace': expected a file name, got '/nowhere/x.json', and there is no directory '/nowhere'",
               "shunt profile"));
  for (const char* value : {"0", "x", "100001"})
    EXPECT_EQ(wrong(std::string("bench mm --repeats ") + value),
              withHelp(std::string("option '--repeats': expected a whole number from 1 to 100000, got '") + value + "'",
                       "shunt bench"));
  EXPECT_EQ(wrong("run --log " + std::string(5000, 'x') + " " + kProgram),
            inRun("option '--log': expected error, warning, info or debug, got '" + std::string(100, 'x') + "...'"));
}

TEST(OptionValue, ThatIsMissingOrTooMany) {
  EXPECT_EQ(wrong("run --threads"), inRun("option '--threads' needs a value: N"));
  EXPECT_EQ(wrong("explain mm -a 2 -a"), withHelp("option '--arg' needs a value: ARGUMENT", "shunt explain"));
  EXPECT_EQ(wrong("--library"), withHelp("option '--library' needs a value: FILE", "shunt"));
  EXPECT_EQ(wrong("run --threads 3 --threads=4 " + kProgram), inRun("option '--threads' is given 2 times"));
  EXPECT_EQ(wrong("run --no-jit=maybe " + kProgram), inRun("option '--no-jit' takes no value"));
  EXPECT_EQ(wrong("stats --json=0 x"), withHelp("option '--json' takes no value", "shunt stats"));
  EXPECT_EQ(wrong("run --stats --report x.json " + kProgram), inRun("give either --stats or --report, not both"));
  EXPECT_EQ(wrong("explain mm -a 2 --report x"), withHelp("give either --arg or --report, not both", "shunt explain"));
  EXPECT_EQ(wrong("graph"), withHelp("'shunt graph' needs the argument 'file': Written by Graph::save", "shunt graph"));
}

TEST(Program, ThatIsMissing) {
  const std::string name = "name the program to run: shunt run [OPTION]... PROGRAM [ARGUMENT]...";
  for (const char* none : {"run", "run --no-jit", "run --"}) EXPECT_EQ(wrong(none), inRun(name)) << none;
  EXPECT_EQ(wrong("run --report ./s"), inRun(name + "; './s' is the value of '--report'"));
  EXPECT_EQ(wrong("run ''"), inRun("the name of the program to run is empty"));
  EXPECT_EQ(wrong("profile"),
            withHelp("name the program to run: shunt profile [OPTION]... PROGRAM [ARGUMENT]...", "shunt profile"));
}

TEST(Program, StandsBehindAMarkToo) {
  const std::string bare = "-u SHUNT_ISA -u SHUNT_NUM_THREADS";
  EXPECT_EQ(good("run -- " + kProgram + " 0 -- --stats", bare), "argument 0\nargument --\nargument --stats\n");
  EXPECT_EQ(good("run --threads 3 --no-jit -- " + kProgram, bare), "SHUNT_JIT=0\nSHUNT_NUM_THREADS=3\n");
  EXPECT_EQ(wrong("run -- --no-jti"), inRun("unknown option '--no-jti' of 'shunt run'; did you mean '--no-jit'?"));
}

TEST(LibraryOption, StandsBeforeAndBehindTheCommand) {
  const std::string library = "--library " SHUNT_OWN_OPS " ";
  EXPECT_EQ(good(library + "ops mine::"), "mine::twice\n");
  EXPECT_EQ(good("ops " + library + "mine::"), "mine::twice\n");
  EXPECT_EQ(good("ops mine:: " + library), "mine::twice\n");
  EXPECT_EQ(good("-l " SHUNT_OWN_OPS " ops -l " SHUNT_DANGLING_OPS " mine::t"),
            "mine::twice\nmine::twise  (kernels without a definition)\n");
  EXPECT_EQ(good("explain mine::twice -a 'float32[2]' " + library),
            good(library + "explain mine::twice -a 'float32[2]'"));
  EXPECT_EQ(wrong("ops -l ''"), withHelp("option '--library': expected a shared object, got ''", "shunt ops"));
}

TEST(UnknownArgument, NamesThoseThatAreNear) {
  const auto first = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  EXPECT_EQ(first(wrong("explain mm -a 'flaot32[2]'")),
            "shunt: argument 'flaot32[2]': 'flaot32' is no dtype; did you mean 'float32'?");
  EXPECT_EQ(first(wrong("explain mm -a 'quux[2]'")), "shunt: argument 'quux[2]': 'quux' is no dtype");
  EXPECT_EQ(first(wrong("explain mm -a '[1,2]x'")), "shunt: argument '[1,2]x': not understood");
  EXPECT_EQ(first(wrong("explain mm -a " + std::string(3000, 'y'))),
            "shunt: argument '" + std::string(100, 'y') + "...': not understood");
  EXPECT_EQ(first(wrong("explain mm -a '[[1],2]'")),
            "shunt: argument '[[1],2]': a list holds numbers only, bools only or tensors only");
  EXPECT_EQ(first(wrong("explain mm -a =3")), "shunt: argument '=3': there is no name before =");
  EXPECT_EQ(first(wrong("explain mm -a meat")), "shunt: argument 'meat': not understood; did you mean 'meta'?");
  EXPECT_EQ(first(wrong("explain mm -a 'float32[2]:gard'")),
            "shunt: argument 'float32[2]:gard': 'gard' is none of grad, strided, meta; did you mean 'grad'?");
  EXPECT_EQ(bad("explain add.Tensor -a 'float32[2]' -a 'float32[2]' -a alhpa=2"),
            "shunt: explain: aten::add.Tensor has no argument 'alhpa' (did you mean 'alpha'?); its schema is "
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n");
}

}  // namespace
}  // namespace shunt
