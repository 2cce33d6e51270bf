// The generator's products as files: complete, stable, and in step with CMake's lists and the documentation.
#include "tests/opgen/temporary_yaml.h"

#include "tools/opgen/emitters/emit.h"
#include "tools/opgen/emitters/shard_counts.h"
#include "tools/opgen/model/yaml_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace opgen {
namespace {

const std::string kSource = SHUNT_SOURCE_DIR;

struct RealModel {
  YamlFiles files = findYamlFiles(kSource + "/kernels/operators");
  Dictionary dictionary = readDictionary(files.operators);
  Derivatives derivatives = readDerivatives(files.derivatives, dictionary);
  std::vector<AutocastRule> rules = readAutocast(files.autocast, dictionary);
  BatchRules batching = readBatching(files.batching, dictionary);
};

std::string contentOf(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> filesBelow(const std::string& directory) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) out.insert(std::filesystem::relative(entry.path(), directory).string());
  return out;
}

TEST(Output, FilesAreThoseThatCMakeLists) {
  const RealModel m;
  const TemporaryYaml folder;
  emitAll(m.dictionary, m.derivatives, m.rules, m.batching, {}, Output(folder.directory()));
  std::set<std::string> listed;
  std::istringstream names(SHUNT_GENERATED_FILES);
  for (std::string name; std::getline(names, name, ',');) listed.insert(name);
  EXPECT_EQ(filesBelow(folder.directory()), listed);
}

// Entries that name one functor share its loops; a shard's table lists it where functors.h says.
TEST(Output, EachFunctorHasOnePlace) {
  const Model m(
      "- func: mine(Tensor self) -> Tensor\n  variants: function, inplace, out\n  elementwise: Mine\n"
      "- func: yours(Tensor self) -> Tensor\n  dispatch: {CPU: yours_cpu}\n  functors: [Yours, Mine]\n");
  EXPECT_EQ(functorsOf(m.dictionary), (std::vector<std::string>{"Mine", "Yours"}));
  const TemporaryYaml folder;
  emitAll(m.dictionary, m.derivatives, {}, {}, {}, Output(folder.directory()));
  const std::string list = contentOf(folder.directory() + "/generated/functors.h");
  for (const std::string name : {"Mine", "Yours"}) {
    const size_t at = list.find(" X(" + name + ", ");
    ASSERT_NE(at, std::string::npos) << list;
    EXPECT_EQ(list.find(" X(" + name + ", ", at + 1), std::string::npos) << list;
    const std::string shard = std::to_string(std::stoi(list.substr(at + 5 + name.size())));
    for (const char* kind : {"loops", "generic"})
      EXPECT_NE(contentOf(folder.directory() + "/generated/pointwise_" + kind + "_" + shard + ".cpp")
                    .find("functors::" + name),
                std::string::npos);
  }
}

// A number for each, in the order of names, whoever names it; a generated kernel hands over what the schema has.
TEST(Output, AccumulatorsAreNumbered) {
  const Model m(
      "- func: total(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor\n  reduction: Total\n"
      "- func: most(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor\n  reduction: Most\n"
      "- func: other(Tensor self) -> Tensor\n  dispatch: {CPU: other_cpu}\n  accumulators: [Total, Fewest]\n");
  EXPECT_EQ(accumulatorsOf(m.dictionary), (std::vector<std::string>{"Fewest", "Most", "Total"}));
  const TemporaryYaml folder;
  emitAll(m.dictionary, m.derivatives, {}, {}, {}, Output(folder.directory()));
  EXPECT_NE(contentOf(folder.directory() + "/generated/accumulators.h").find(" X(Fewest, 0) X(Most, 1) X(Total, 2)"),
            std::string::npos);
  std::string text;
  for (size_t shard = 0; shard < kBackendShards; ++shard)
    text += contentOf(folder.directory() + "/generated/backend_" + std::to_string(shard) + ".cpp");
  for (const std::string call : {"accumulators::Total>(\"total\", self, IntArrayRef(dim), false, dtype)",
                                 "accumulators::Most>(\"most\", self, dim, keepdim, std::nullopt)"})
    EXPECT_NE(text.find(call), std::string::npos) << call;
}

// `out: cast` lets out have any dtype that the result can be cast to; `out: copy` wants the result's own.
TEST(Output, OutFormsCastOrCopy) {
  const Model m(
      "- func: mine(Tensor self) -> Tensor\n  variants: function, out\n  out: cast\n  dispatch: {CPU: mine_cpu}\n"
      "- func: yours(Tensor self) -> Tensor\n  variants: function, out\n  out: copy\n  dispatch: {CPU: yours_cpu}\n"
      "- func: pair(Tensor self) -> (Tensor values, Tensor indices)\n  variants: function, out\n  out: cast\n"
      "  dispatch: {CPU: pair_cpu}\n");
  for (const char* name : {"mine", "yours", "pair"})
    EXPECT_EQ(m.op(name, "out").kernels[0].kind, KernelKind::kCopy) << name;
  const TemporaryYaml folder;
  emitAll(m.dictionary, m.derivatives, {}, {}, {}, Output(folder.directory()));
  std::string text;
  for (const std::string& file : filesBelow(folder.directory()))
    if (file.starts_with("generated/backend_")) text += contentOf(folder.directory() + "/" + file);
  for (const char* call :
       {"return castToOut(\"mine\", out, ops::mine::call(self));",
        "return copyToOut(\"yours\", out, ops::yours::call(self));",
        "castToOut(\"pair\", values, std::get<0>(results));", "castToOut(\"pair\", indices, std::get<1>(results));"})
    EXPECT_NE(text.find(call), std::string::npos) << call << " is not in\n" << text;
}

// All forms of a structured operator come from one shape function and one kernel, for CPU and Meta.
TEST(Output, StructuredFormsShareTheirKernels) {
  const Model m(
      "- func: norm(Tensor self, Tensor weight, int dim) -> Tensor\n  variants: function, inplace, out\n"
      "  structured_delegate: norm.out\n  dispatch: {\"CPU, Meta\": norm}\n");
  for (const auto& op : m.dictionary.operators)
    for (const Kernel& k : op.kernels) EXPECT_EQ(k.kind, KernelKind::kStructured) << op.qualifiedName();
  const TemporaryYaml folder;
  emitAll(m.dictionary, m.derivatives, {}, {}, {}, Output(folder.directory()));
  std::string text = contentOf(folder.directory() + "/generated/native_functions.h");
  for (const std::string& file : filesBelow(folder.directory()))
    if (file.starts_with("generated/backend_")) text += contentOf(folder.directory() + "/" + file);
  const std::string meta = "native::norm_meta(self, weight, dim)",
                    impl = "[&](const Tensor& result) { native::norm_impl(self, weight, dim, result); }";
  for (const std::string& part :
       {std::string("ResultMeta norm_meta(const Tensor& self, const Tensor& weight, int64_t dim);"),
        std::string("void norm_impl(const Tensor& self, const Tensor& weight, int64_t dim, const Tensor& result);"),
        "return structured(" + meta + ", " + impl + ");",
        "return structuredInplace(\"norm_\", " + meta + ", self, " + impl + ");",
        "return structuredOut(\"norm\", " + meta + ", {&self, &weight}, out, " + impl + ");",
        std::string("CommonDevice common(\"wrapper_CPU_norm_out\");")})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(Output, DocumentationIsUpToDate) {
  const RealModel m;
  EXPECT_EQ(operatorTable(m.dictionary, m.rules, m.batching), contentOf(kSource + "/docs/operators.md"))
      << "run build/<preset>/bin/opgen --yaml-dir kernels/operators --docs docs/operators.md";
}

TEST(Output, UnchangedFilesAreLeftAlone) {
  const TemporaryYaml folder;
  const Output out(folder.directory());
  out.write("a/b.h", "text");
  const std::string path = folder.directory() + "/a/b.h";
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(path, old);
  out.write("a/b.h", "text");
  EXPECT_EQ(std::filesystem::last_write_time(path), old);
  out.write("a/b.h", "other");
  EXPECT_NE(std::filesystem::last_write_time(path), old);
  EXPECT_EQ(contentOf(path), "other");
}

TEST(Output, AddingAnOperatorChangesOneShard) {
  const TemporaryYaml folder;
  const Output out(folder.directory());
  const auto write = [&](bool with_new) {
    Shards shards("s", 4, "", "");
    for (const char* name : {"add", "mul", "sub", "div", "neg"}) shards.add(name, name);
    if (with_new) shards.add("softsign", "softsign");
    shards.write(out);
  };
  write(false);
  std::vector<std::string> before;
  for (int i = 0; i < 4; ++i) before.push_back(contentOf(folder.directory() + "/s_" + std::to_string(i) + ".cpp"));
  write(true);
  int changed = 0;
  for (int i = 0; i < 4; ++i)
    changed += contentOf(folder.directory() + "/s_" + std::to_string(i) + ".cpp") != before[i];
  EXPECT_EQ(changed, 1);
}

}  // namespace
}  // namespace opgen
