// Loading and saving under modes, in transforms, and in functions that are recorded.
#include "tests/files/samples.h"
#include "tests/support/error_of.h"

#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shunt {
namespace {

using namespace test;
using test::kButStrides;
using test::sameBits;
using testing::HasSubstr;

class FileModes : public testing::TestWithParam<const char*> {
 protected:
  FileModes() { save({{"w", w}}, path); }
  const FileFolder folder;
  const std::string path = folder.path(std::string("w") + GetParam());
  const Tensor w = numbered({2, 3}, kFloat);
};
INSTANTIATE_TEST_SUITE_P(Formats, FileModes, testing::Values(".safetensors", ".npz"),
                         [](const auto& info) { return std::string(info.param + 1); });

TEST_P(FileModes, AFakeModeGetsFakeTensors) {
  const FakeTensorMode mode;
  const Tensor fake = load(path).at("w");
  EXPECT_THAT(errorOf([&] { fake.data_ptr(); }), HasSubstr("fake"));
  EXPECT_EQ(fake.mm(fake.t()).sizes(), IntArrayRef({2, 2}));
}

TEST_P(FileModes, RealTensorsAreSavedInAFakeMode) {
  const Tensor t = w.t();
  const std::string other = folder.path(std::string("t") + GetParam());
  {
    const FakeTensorMode mode;
    save({{"t", t}}, other);
  }
  EXPECT_TRUE(sameBits(load(other).at("t"), t, kButStrides));
}

TEST_P(FileModes, FunctionalizedProgramsMayWriteToThem) {
  const Tensor out = functionalize([&](const Tensor& x) {
    Tensor t = load(path).at("w");
    t.add_(x);
    return t;
  })(ones({2, 3}));
  EXPECT_TRUE(sameBits(out, w + 1, kButStrides));
}

TEST_P(FileModes, InferenceTensorsAreNormalOnesElsewhere) {
  Tensor t;
  {
    const InferenceMode on;
    t = load(path).at("w");
    EXPECT_TRUE(t.is_inference());
  }
  EXPECT_FALSE(load(path).at("w").is_inference());
}

TEST_P(FileModes, GradAndVmapComputeWithThem) {
  const Tensor g = grad([&](const Tensor& x) { return (load(path).at("w") * x).sum(); })(zeros({2, 3}));
  EXPECT_TRUE(sameBits(g, w, kButStrides));
  const Tensor each = vmap([&](const Tensor& x) { return load(path).at("w") * x; })(tensor({1.f, 2.f}));
  EXPECT_TRUE(sameBits(each, stack({w, w * 2}), kButStrides));
}

TEST_P(FileModes, ACompiledFunctionReadsTheFileEachTime) {
  auto f = compile([&](const Tensor& x) { return x + load(path).at("w"); });
  const Tensor x = ones({2, 3});
  for (int i = 0; i < 5; ++i) {
    save({{"w", w * i}}, path);
    EXPECT_TRUE(sameBits(f(x), x + w * i, kButStrides)) << i;
  }
}

TEST_P(FileModes, ACompiledFunctionWritesTheFileEachTime) {
  const std::string out = folder.path(std::string("out") + GetParam());
  const Tensor captured = ones({1});
  auto f = compile([&](const Tensor& x) {
    const Tensor y = x * 2;
    save({{"y", y}, {"captured", captured}}, out);
    return y;
  });
  auto none = compile([&](const Tensor& x) {
    save({}, out);
    return x * 2;
  });
  for (int i = 1; i < 5; ++i) {
    f(full({2}, i));
    EXPECT_TRUE(sameBits(load(out).at("y"), full({2}, 2 * i), kButStrides)) << i;
    none(ones({2}));
    EXPECT_TRUE(load(out).empty()) << i;
  }
}

TEST_P(FileModes, ATracedFunctionHasTheElementsOfItsRecording) {
  const Graph graph = trace([&](const Tensor& x) { return load(path).at("w").add_(x); }, ones({2, 3}));
  std::filesystem::remove(path);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(sameBits(graph.run({ones({2, 3})})[0], w + 1, kButStrides));
}

TEST_P(FileModes, AModeSeesNoOperatorOfAFile) {
  struct Refusing : DispatchMode {
    void handle(const OperatorHandle&, Stack*) override { throw Error("an operator"); }
  } refusing;
  const Tensor t = w.t();
  const DispatchModeGuard on(refusing);
  save({{"t", t}}, path);
  load(path);
}

}  // namespace
}  // namespace shunt
