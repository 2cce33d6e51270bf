// What bin/shunt says of names that it doesn't know, whole.
#include "tests/tools/cli.h"

#include <gtest/gtest.h>

namespace shunt {
namespace {

using test::bad;

std::string withHelp(const std::string& message, const std::string& command) {
  return "shunt: " + message + "\nRun '" + command + " --help' for its options.\n";
}

TEST(UnknownCommand, NamesThoseThatAreNear) {
  EXPECT_EQ(bad("explian mm"), withHelp("unknown command 'explian'; did you mean 'explain'?", "shunt"));
  EXPECT_EQ(bad("cache lst"), withHelp("unknown command 'lst' of 'shunt cache'; did you mean 'list'?", "shunt cache"));
  EXPECT_EQ(
      bad("surprise"),
      withHelp(
          "unknown command 'surprise'; there are ops, dump, explain, bench, run, profile, stats, graph, cache, info",
          "shunt"));
  EXPECT_EQ(bad("stats a.json b.json"), withHelp("'shunt stats' takes no further argument 'b.json'", "shunt stats"));
  EXPECT_EQ(bad(""), withHelp("A subcommand is required", "shunt"));
}

TEST(UnknownOption, NamesThoseThatAreNear) {
  EXPECT_EQ(bad("--libary x.so ops"), withHelp("unknown option '--libary'; did you mean '--library'?", "shunt"));
  EXPECT_EQ(bad("stats a.json --jsn"),
            withHelp("unknown option '--jsn' of 'shunt stats'; did you mean '--json'?", "shunt stats"));
  EXPECT_EQ(bad("stats --jsn"),
            withHelp("unknown option '--jsn' of 'shunt stats'; did you mean '--json'?", "shunt stats"));
  EXPECT_EQ(bad("explain mm --no_grad"),
            withHelp("unknown option '--no_grad' of 'shunt explain'; did you mean '--no-grad'?", "shunt explain"));
  EXPECT_EQ(bad("cache list --directry=/tmp"),
            withHelp("unknown option '--directry=/tmp' of 'shunt cache'; did you mean '--directory'?", "shunt cache"));
  EXPECT_EQ(bad("ops --quux"), withHelp("unknown option '--quux' of 'shunt ops'", "shunt ops"));
}

TEST(UnknownOperator, NamesThoseThatAreNear) {
  EXPECT_EQ(bad("dump addmn"),
            "shunt: Could not find schema for aten::addmn: there is no such operator; did you mean 'aten::addmm' or "
            "'aten::add' or 'aten::add_'?\n");
  EXPECT_EQ(bad("dump atne::addmm"),
            "shunt: Could not find schema for atne::addmm: there is no such operator, nor any other in the namespace "
            "'atne'; did you mean 'aten::addmm'?\n");
  EXPECT_EQ(bad("dump mm.Tensor"),
            "shunt: Could not find schema for aten::mm.Tensor: aten::mm has no overload 'Tensor', only aten::mm, "
            "aten::mm.out\n");
  EXPECT_EQ(
      bad("dump mm.oot"),
      "shunt: Could not find schema for aten::mm.oot: aten::mm has no overload 'oot', only aten::mm, aten::mm.out; "
      "did you mean 'aten::mm.out'?\n");
}

TEST(UnknownArgument, NamesThoseThatAreNear) {
  const auto first = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  EXPECT_EQ(first(bad("explain mm -a 'flaot32[2]'")),
            "shunt: argument 'flaot32[2]': 'flaot32' is no dtype; did you mean 'float32'?");
  EXPECT_EQ(first(bad("explain mm -a 'quux[2]'")), "shunt: argument 'quux[2]': 'quux' is no dtype");
  EXPECT_EQ(first(bad("explain mm -a '[1,2]x'")), "shunt: argument '[1,2]x': not understood");
  EXPECT_EQ(first(bad("explain mm -a meat")), "shunt: argument 'meat': not understood; did you mean 'meta'?");
  EXPECT_EQ(first(bad("explain mm -a 'float32[2]:gard'")),
            "shunt: argument 'float32[2]:gard': 'gard' is none of grad, strided, meta; did you mean 'grad'?");
  EXPECT_EQ(bad("explain add.Tensor -a 'float32[2]' -a 'float32[2]' -a alhpa=2"),
            "shunt: explain: aten::add.Tensor has no argument 'alhpa' (did you mean 'alpha'?); its schema is "
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n");
}

}  // namespace
}  // namespace shunt
