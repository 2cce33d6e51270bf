// Graph::save and load.
#include <shunt/trace/trace.h>

#include "tests/support/error_of.h"

#include <shunt/shunt.h>
#include <shunt/version.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

namespace shunt {
namespace {

using test::errorOf;
using testing::AllOf;
using testing::HasSubstr;

class GraphFile : public testing::Test {
 protected:
  GraphFile() : folder_(std::filesystem::temp_directory_path() / ("shunt_graph_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~GraphFile() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name = "g.graph") const { return (folder_ / name).string(); }
  std::string bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  std::string loadError() const {
    return errorOf([&] { Graph::load(path()); });
  }
  std::filesystem::path folder_;
};

Graph sample() {
  static const Tensor w = shunt::tensor({1.5, -2.0, 3.0}), part = w.narrow(0, 1, 2);
  return trace(
      [](const Tensor& x) {
        w.mul_(1);
        const NoGradGuard no_grad;
        return (x * part).clamp(-std::numeric_limits<double>::infinity(), 1e300).sum(0, false, kDouble);
      },
      ones({2}));
}

TEST_F(GraphFile, ComesBackAsItWas) {
  const Graph g = sample();
  g.save(path());
  const Graph back = Graph::load(path());
  EXPECT_EQ(back.print(), g.print());
  EXPECT_EQ(back.toJson(), g.toJson());
  back.verify();
  const Tensor x = shunt::tensor({0.25, -3.0});
  EXPECT_EQ(back.run({x})[0].item<double>(), g.run({x})[0].item<double>());
  ASSERT_EQ(back.constants().size(), 2u);
  EXPECT_TRUE(back.constants()[0]->constant.is_alias_of(back.constants()[1]->constant));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "nothing is left beside";
}

TEST_F(GraphFile, ATrainingStepGoesOnFromTheFile) {
  const Tensor w = ones({2}).requires_grad_();
  const Graph g = trace(
      [&](const Tensor& x) {
        w.mutable_grad() = Tensor();
        const Tensor loss = (w * x).square().sum();
        loss.backward();
        const NoGradGuard no_grad;
        w.sub_(w.grad() * 0.1);
        return loss;
      },
      ones({2}), {.fake = true});
  g.save(path());
  const Graph back = Graph::load(path());
  for (int i = 0; i < 3; ++i) {
    const Tensor x = full({2}, 0.5 + i);
    EXPECT_EQ(back.run({x})[0].item<float>(), g.run({x})[0].item<float>());
  }
  EXPECT_TRUE(back.constants()[0]->constant.eq(w).all().item<bool>());
  EXPECT_FALSE(back.constants()[0]->constant.is_same(w));
}

// Who holds the gradient that a leaf is given is nowhere in the graph but at that node.
TEST_F(GraphFile, AGradientThatAVariableHoldsIsCopied) {
  for (const bool holds : {true, false}) {
    const auto step = [&](const Tensor& p, const Tensor& x) {
      Tensor g = x * 3;
      const Tensor y = p * 1;
      holds ? y.backward(g) : (y * g).sum().backward();
      return y.detach();
    };
    const auto leaf = [] { return ones({2}).requires_grad_(); };
    const Tensor plain = leaf(), x = shunt::tensor({0.5f, 2.0f});
    step(plain, x);
    const Graph g = trace(step, std::tuple{leaf(), x});
    g.save(path());
    for (const Graph& graph : {g.clone(), Graph::load(path())}) {
      const Tensor p = leaf();
      graph.run({p, x});
      EXPECT_TRUE(p.grad().equal(plain.grad()));
      EXPECT_EQ(p.grad()._version(), plain.grad()._version()) << holds;
    }
  }
}

TEST_F(GraphFile, EveryKindOfDamageIsAnError) {
  sample().save(path());
  const std::string good = bytes();
  write("no graph at all, but longer than any header would be");
  EXPECT_THAT(loadError(), AllOf(HasSubstr(path()), HasSubstr("is not a graph that Graph::save() wrote")));
  write("");
  EXPECT_THAT(loadError(), HasSubstr("not a graph"));
  std::string other = good;
  other[8] = 99;
  write(other);
  EXPECT_THAT(loadError(),
              AllOf(HasSubstr("version 99"), HasSubstr("of a newer Shunt"), HasSubstr("reads versions 1 to 2"),
                    HasSubstr(SHUNT_VERSION), HasSubstr("trace the function again")));
  other[8] = 0;
  write(other);
  EXPECT_THAT(loadError(), AllOf(HasSubstr("version 0"), HasSubstr("damaged")));
  for (const size_t size : {good.size() - 1, good.size() / 2, size_t{41}, size_t{17}}) {
    write(good.substr(0, size));
    EXPECT_NE(loadError(), "no error") << size;
  }
  write(good + "x");
  EXPECT_THAT(loadError(), HasSubstr("cut off or has grown"));
  for (size_t at = 40; at < good.size(); at += 7) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(damaged);
    EXPECT_THAT(loadError(), HasSubstr("checksum")) << at;
  }
  other = good;
  const uint64_t huge = uint64_t{1} << 60;
  std::memcpy(&other[24], &huge, sizeof huge);  // before anything of that size is allocated
  write(other);
  EXPECT_THAT(loadError(), HasSubstr("cut off"));
  write(good);
  EXPECT_EQ(loadError(), "no error");
}

/// FNV-1a of the sizes and of what follows the header, as files have it.
std::string withChecksum(std::string file, const std::string& from, const std::string& to) {
  const size_t at = file.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  file.replace(at, from.size(), to);
  uint64_t text = 0, hash = 0xcbf29ce484222325u;
  std::memcpy(&text, &file[16], sizeof text);
  text = text - from.size() + to.size();
  std::memcpy(&file[16], &text, sizeof text);
  for (size_t i = 16; i < file.size(); ++i)
    if (i < 32 || i >= 40) hash = (hash ^ static_cast<unsigned char>(file[i])) * 0x100000001b3u;
  std::memcpy(&file[32], &hash, sizeof hash);
  return file;
}

TEST_F(GraphFile, AFileWithARightChecksumAndAWrongGraphIsAnError) {
  sample().save(path());
  const std::string good = bytes();
  write(withChecksum(good, "\"version\":2", "\"version\":2"));
  EXPECT_EQ(loadError(), "no error");
  const auto errorAfter = [&](const char* from, const char* to) {
    write(withChecksum(good, from, to));
    return loadError();
  };
  EXPECT_THAT(errorAfter("{\"value\":0},", ""), AllOf(HasSubstr("aten::mul.Tensor"), HasSubstr("got 1")));
  EXPECT_THAT(errorAfter("\"value\":0", "\"value\":77"), HasSubstr("%77 is used"));
  EXPECT_THAT(errorAfter("\"id\":2", "\"id\":0"), HasSubstr("of which there are two"));
  EXPECT_THAT(errorAfter("\"dtype\":\"float32\"", "\"dtype\":\"float99\""), HasSubstr("float99"));
  EXPECT_THAT(errorAfter("aten::mul.Tensor(", "aten::nosuch("), HasSubstr("aten::nosuch"));
  EXPECT_THAT(errorAfter("\"bytes\":12", "\"bytes\":8"), HasSubstr("reaches beyond its storage"));
  EXPECT_THAT(errorAfter("\"bytes\":12", "\"bytes\":1152921504606846976"), HasSubstr("is damaged"));
  EXPECT_THAT(errorAfter("\"sizes\":[3]", "\"sizes\":[-3]"), HasSubstr("sizes [-3]"));
  EXPECT_THAT(errorAfter("\"outputs\":", "\"outcome\":"), HasSubstr("outputs"));
  EXPECT_THAT(errorAfter("\"is_list\":false", "\"is_list\":true"), HasSubstr("expected Tensor, got Tensor[]"));
}

// Files as earlier versions wrote them, which stay in the repository: docs/tracing.md promises to read them.
TEST_F(GraphFile, FilesOfEachVersionAreRead) {
  for (const int version : {1, 2}) {
    const std::string file = SHUNT_STORED_GRAPHS "/version_" + std::to_string(version) + ".graph";
    const Graph g = Graph::load(file);
    g.verify();
    const Tensor w = g.constants()[0]->constant, expected = w.detach().clone();
    for (int step = 1; step <= 3; ++step) {
      const Tensor x = shunt::tensor({0.5f, -1.0f});
      // d/dw of the sum of (w x)^2 is 2 w x^2; the rate is 0.25.
      const Tensor loss = (expected * x).square().sum();
      EXPECT_EQ(g.run({x})[0].item<float>(), loss.item<float>()) << file << ", step " << step;
      expected.sub_(expected * x * x * 2 * 0.25);
      EXPECT_TRUE(w.detach().equal(expected)) << file << ", step " << step;
    }
    g.save(path());
    EXPECT_EQ(Graph::load(path()).print(), g.print()) << "saved again, as this version's";
  }
}

TEST_F(GraphFile, AnOperatorThatGotArgumentsSinceThen) {
  const auto twice = [](const char* schema, const char* changed, auto kernel, auto changed_kernel) {
    std::string error;
    const std::string file =
        (std::filesystem::temp_directory_path() / ("shunt_changed_" + std::to_string(getpid()))).string();
    {
      Library m(Library::Kind::kDef, "changing");
      m.def(schema);
      m.impl("op", DispatchKey::CPU, kernel);
      const auto op = Dispatcher::singleton().findSchemaOrThrow("changing::op").typed<Tensor(const Tensor&, double)>();
      trace([&](const Tensor& x) { return op.call(x, 3); }, ones({2})).save(file);
    }
    Library m(Library::Kind::kDef, "changing");
    m.def(changed);
    m.impl("op", DispatchKey::CPU, changed_kernel);
    error = errorOf([&] {
      const Graph g = Graph::load(file);
      SHUNT_CHECK(g.run({ones({2})})[0].equal(full({2}, 3.0)), "wrong values");
    });
    std::filesystem::remove(file);
    return error;
  };
  const char* schema = "op(Tensor self, float by) -> Tensor";
  const auto kernel = [](const Tensor& self, double by) { return self.mul(by); };
  const auto again = [&](const char* changed, auto changed_kernel) {
    return twice(schema, changed, kernel, changed_kernel);
  };
  EXPECT_EQ(again("op(Tensor self, float by=2) -> Tensor", kernel), "no error") << "a default that wasn't used";
  EXPECT_EQ(again("op(Tensor self, float? by) -> Tensor",
                  [](const Tensor& self, std::optional<double> by) { return self.mul(by.value()); }),
            "no error");
  EXPECT_EQ(again("op(Tensor self, float by, int[] more=[1, 2], *, str how=\"plain\") -> Tensor",
                  [](const Tensor& self, double by, IntArrayRef more, std::string_view how) {
                    return self.mul(how == "plain" && more == IntArrayRef({1, 2}) ? by : 0);
                  }),
            "no error");
  EXPECT_EQ(again("op(Tensor self, bool negated=False, float by=1) -> Tensor",
                  [](const Tensor& self, bool negated, double by) { return self.mul(negated ? -by : by); }),
            "no error")
      << "between those that there were";
  const auto differs = [&](const char* why) {
    return AllOf(HasSubstr("changing::op"), HasSubstr("but the graph has"), HasSubstr(why),
                 HasSubstr("trace the function again"));
  };
  EXPECT_THAT(again("op(Tensor self, float by, int more) -> Tensor",
                    [](const Tensor& self, double by, int64_t) { return self.mul(by); }),
              differs("'more' is new, without a default"));
  EXPECT_THAT(again("op(Tensor self) -> Tensor", [](const Tensor& self) { return self.mul(2); }),
              differs("'by' is gone"));
  EXPECT_THAT(again("op(Tensor self, int by) -> Tensor", [](const Tensor& self, int64_t by) { return self.mul(by); }),
              differs("'by' is another one"));
  EXPECT_THAT(again("op(Tensor(a!) self, float by) -> Tensor(a!)",
                    [](Tensor& self, double by) -> Tensor& { return self.mul_(by); }),
              differs("'self' is another one"));
  EXPECT_THAT(again("op(Tensor self, float by) -> Tensor[]",
                    [](const Tensor& self, double by) { return std::vector<Tensor>{self.mul(by)}; }),
              differs("the returns are other ones"));
}

TEST_F(GraphFile, AMissingFileAndAMissingFolder) {
  EXPECT_THAT(errorOf([&] { Graph::load(path("none")); }), AllOf(HasSubstr("none"), HasSubstr("can't be read")));
  EXPECT_THAT(errorOf([&] { sample().save(path("no/such/folder")); }), HasSubstr("no/such/folder"));
}

// A rename would put a file in the place of /dev/null, for every program of the machine.
TEST_F(GraphFile, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string refused = "': is not a regular file, so it is not replaced";
  EXPECT_EQ(errorOf([&] { sample().save(path("pipe")); }), "Graph::save: '" + path("pipe") + refused);
  EXPECT_EQ(errorOf([&] { Graph::load(path("pipe")); }), "Graph::load: '" + path("pipe") + "': is no regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  std::filesystem::create_symlink("pipe", path("to_pipe"));
  EXPECT_EQ(errorOf([&] { sample().save(path("to_pipe")); }), "Graph::save: '" + path("to_pipe") + refused);
  std::filesystem::create_symlink("g.graph", path("link"));
  sample().save(path("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(loadError(), "no error") << "the file that the link leads to";
}

TEST_F(GraphFile, AnOperatorThatIsNotRegistered) {
  {
    Library m(Library::Kind::kDef, "gone");
    m.def("twice(Tensor self) -> Tensor");
    m.impl("twice", DispatchKey::CPU, [](const Tensor& self) { return self.mul(2); });
    const auto twice = Dispatcher::singleton().findSchemaOrThrow("gone::twice").typed<Tensor(const Tensor&)>();
    trace([&](const Tensor& x) { return twice.call(x); }, ones({2})).save(path());
    EXPECT_EQ(loadError(), "no error");
  }
  EXPECT_THAT(loadError(), HasSubstr("gone::twice"));
}

TEST_F(GraphFile, StringsAreUtf8) {
  Library m(Library::Kind::kDef, "named");
  m.def("as(Tensor self, str name) -> Tensor");
  m.impl("as", DispatchKey::CPU, [](const Tensor& self, std::string_view) { return self.mul(2); });
  const auto as =
      Dispatcher::singleton().findSchemaOrThrow("named::as").typed<Tensor(const Tensor&, std::string_view)>();
  const auto graph = [&](std::string_view name) {
    return trace([&](const Tensor& x) { return as.call(x, name); }, ones({2}));
  };
  graph("na\u00efve").save(path());
  EXPECT_EQ(loadError(), "no error");
  EXPECT_THAT(errorOf([&] { graph("\xff").save(path()); }),
              AllOf(HasSubstr("named::as"), HasSubstr("'name'"), HasSubstr("isn't UTF-8")));
  EXPECT_EQ(loadError(), "no error") << "the file stays";
}

TEST_F(GraphFile, WhatNoFileCanHold) {
  const Generator generator = make_generator(3);
  const Graph drawing = trace([&](const Tensor& x) { return Tensor(x).normal_(0, 1, generator); }, ones({2}));
  EXPECT_THAT(errorOf([&] { drawing.save(path()); }), AllOf(HasSubstr("'generator'"), HasSubstr("no file can hold")));
  const Tensor interior = ones({2}).requires_grad_() * 2;
  const Graph g = trace([&](const Tensor& x) { return x * interior; }, ones({2}));
  EXPECT_THAT(errorOf([&] { g.save(path()); }), HasSubstr("not a leaf"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace shunt
