// What can't be saved is an error that says why, and an error leaves files as they were.
#include "tests/files/samples.h"
#include "tests/support/error_of.h"

#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace shunt {
namespace {

using namespace test;
using test::kButStrides;
using test::sameBits;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class Saving : public testing::TestWithParam<const char*> {
 protected:
  std::string path(const std::string& stem = "x") const { return folder.path(stem + GetParam()); }
  std::string errorOfSaving(const std::map<std::string, Tensor>& tensors) const {
    return errorOf([&] { save(tensors, path()); });
  }
  const FileFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Formats, Saving, testing::Values(".safetensors", ".npz"),
                         [](const auto& info) { return std::string(info.param + 1); });

TEST_P(Saving, SharedMemoryIsAnErrorThatNamesBoth) {
  const Tensor w = zeros({4, 4});
  EXPECT_THAT(errorOfSaving({{"a.w", w}, {"b.w", w}, {"c", ones({2})}}),
              AllOf(HasSubstr("'a.w'"), HasSubstr("'b.w'"), HasSubstr("share memory"), HasSubstr(path())));
  for (const Tensor& other : {w.t(), w.view({16}), w.detach(), w.narrow(0, 3, 1), w.expand({2, 4, 4}), w.data()})
    EXPECT_THAT(errorOfSaving({{"one", w}, {"two", other}}), AllOf(HasSubstr("'one'"), HasSubstr("'two'")));
  // Memory of the program's own, twice.
  std::vector<float> memory(8);
  EXPECT_THAT(errorOfSaving({{"one", from_blob(memory.data(), {6})}, {"two", from_blob(memory.data() + 5, {3})}}),
              AllOf(HasSubstr("'one'"), HasSubstr("'two'")));
  // The one that reaches furthest isn't the one before.
  EXPECT_THAT(errorOfSaving({{"all", w}, {"first", zeros({1})}, {"last", w.narrow(0, 3, 1)}}),
              AllOf(HasSubstr("'all'"), HasSubstr("'last'")));
  EXPECT_TRUE(folder.names().empty());
}

TEST_P(Saving, PartsWithoutACommonElementAreSaved) {
  const Tensor w = numbered({4, 4}, kFloat);
  save({{"upper", w.narrow(0, 0, 2)}, {"lower", w.narrow(0, 2, 2)}, {"none", w.narrow(0, 1, 0)}}, path());
  const auto back = load(path());
  EXPECT_TRUE(sameBits(back.at("upper"), w.narrow(0, 0, 2), kButStrides));
  EXPECT_TRUE(sameBits(back.at("lower"), w.narrow(0, 2, 2), kButStrides));
  EXPECT_EQ(back.at("none").numel(), 0);
}

TEST_P(Saving, ColumnsOfOneTensorAreSaved) {
  const Tensor qkv = numbered({5, 24}, kFloat);
  std::map<std::string, Tensor> parts = {
      {"q", qkv.narrow(1, 0, 8)}, {"k", qkv.narrow(1, 8, 8)}, {"v", qkv.narrow(1, 16, 8)}};
  save(parts, path());
  const auto back = load(path());
  for (const auto& [name, part] : parts) EXPECT_TRUE(sameBits(back.at(name), part, kButStrides)) << name;
  const Tensor flat = qkv.view({-1});
  save({{"even", flat.slice(0, 0, 120, 2)}, {"odd", flat.slice(0, 1, 120, 2)}}, path());
  EXPECT_TRUE(sameBits(load(path()).at("odd"), flat.slice(0, 1, 120, 2), kButStrides));

  parts["the column that meets two"] = qkv.narrow(1, 15, 2);
  EXPECT_THAT(errorOfSaving(parts), AllOf(HasSubstr("'the column that meets two'"), HasSubstr("share memory")));
  // Two storages of one memory, whose strides say nothing of each other.
  std::vector<float> memory(8);
  EXPECT_THAT(errorOfSaving({{"one", from_blob(memory.data(), {4}, {2})}, {"two", from_blob(&memory[1], {3}, {2})}}),
              HasSubstr("share memory"));
}

TEST_P(Saving, TensorsWithoutElementsAreErrors) {
  const auto error = [&](const Tensor& t) { return errorOfSaving({{"good", ones({1})}, {"the bad one", t}}); };
  EXPECT_THAT(error(Tensor()), AllOf(HasSubstr("tensor 'the bad one'"), HasSubstr("undefined"), HasSubstr(path())));
  EXPECT_THAT(error(empty({2}, TensorOptions(kFloat).device(Device("meta")))),
              AllOf(HasSubstr("'the bad one'"), HasSubstr("meta")));
  EXPECT_THAT(error(to_functional(ones({2}))), AllOf(HasSubstr("'the bad one'"), HasSubstr("functional")));
  {
    const Tensor good = ones({1});
    const FakeTensorMode mode;
    EXPECT_THAT(errorOfSaving({{"good", good}, {"the bad one", empty({2})}}),
                AllOf(HasSubstr("'the bad one'"), HasSubstr("fake")));
  }
  vmap([&](const Tensor& sample) {
    EXPECT_THAT(error(sample), AllOf(HasSubstr("'the bad one'"), HasSubstr("vmap")));
    return sample;
  })(ones({2, 2}));
  EXPECT_TRUE(folder.names().empty());
}

TEST_P(Saving, NamesThatNoFormatHoldsAreErrors) {
  EXPECT_THAT(errorOfSaving({{"\xff", ones({1})}}), HasSubstr("'\\xff' is not UTF-8"));
  EXPECT_THAT(errorOfSaving({{std::string("a\0b", 3), ones({1})}}), HasSubstr("zero byte"));
  EXPECT_TRUE(folder.names().empty());
}

TEST(SavingFormats, EachSaysWhatItHasNoPlaceFor) {
  const FileFolder folder;
  EXPECT_THAT(errorOf([&] { save({{"__metadata__", ones({1})}}, folder.path("x.safetensors")); }),
              HasSubstr("__metadata__"));
  EXPECT_THAT(errorOf([&] { save({}, folder.path("x.safetensors"), {{"k", "\xc3("}}); }), HasSubstr("is not UTF-8"));
  EXPECT_THAT(errorOf([&] { save({}, folder.path("x.npz"), {{"k", "v"}}); }), HasSubstr(".safetensors"));
  EXPECT_THAT(errorOf([&] { save({{"w", ones({1}, kBFloat16)}}, folder.path("x.npz")); }),
              AllOf(HasSubstr("'w'"), HasSubstr("bfloat16"), HasSubstr("kFloat")));
  EXPECT_THAT(errorOf([&] { save_npy(ones({1}, kBFloat16), folder.path("x.npy")); }), HasSubstr("bfloat16"));
  EXPECT_THAT(errorOf([&] { save_npy(Tensor(), folder.path("x.npy")); }), HasSubstr("undefined"));
  EXPECT_TRUE(folder.names().empty());
}

TEST(SavingFormats, AnotherExtensionIsAnErrorThatNamesThoseThatWork) {
  const FileFolder folder;
  for (const char* name : {"x.pt", "x", "x.safetensors.bak", "x.safetensor", ".safetensors", "npz", "x.npz/", ""}) {
    const std::string path = folder.path(name);
    for (const std::string& error :
         {errorOf([&] { save({}, path); }), errorOf([&] { load(path); }), errorOf([&] { load_metadata(path); })})
      EXPECT_THAT(error, AllOf(HasSubstr(".safetensors"), HasSubstr(".npz"), HasSubstr(path))) << name;
  }
  const auto loading = [&](const std::string& path) { return errorOf([&] { load(path); }); };
  EXPECT_EQ(loading("x.pt"), "load: 'x.pt': the extension '.pt' is not supported: expected .safetensors or .npz");
  EXPECT_EQ(loading("x"), "load: 'x': the path has no extension: expected .safetensors or .npz");
  EXPECT_EQ(loading("x.npy"),
            "load: 'x.npy': the extension '.npy' is not supported: expected .safetensors or .npz; save_npy() and "
            "load_npy() are for one array");
  save({}, folder.path("x.NPZ"));
  EXPECT_TRUE(load(folder.path("x.NPZ")).empty());
}

TEST(TensorNamed, ListsTheNamesThatThereAre) {
  std::map<std::string, Tensor> tensors = {{"hidden.bias", zeros({2})}, {"hidden.weight", ones({2})}};
  EXPECT_TRUE(tensor_named(tensors, "hidden.weight").is_same(tensors.at("hidden.weight")));
  EXPECT_EQ(
      errorOf([&] { tensor_named(tensors, "hiden.weight"); }),
      "tensor_named: there is no tensor 'hiden.weight'; the names are 'hidden.bias', 'hidden.weight'; did you mean "
      "'hidden.weight'?");
  EXPECT_EQ(errorOf([&] { tensor_named(tensors, "x\n"); }),
            "tensor_named: there is no tensor 'x\\x0a'; the names are 'hidden.bias', 'hidden.weight'");
  EXPECT_EQ(errorOf([] { tensor_named({}, "w"); }), "tensor_named: there is no tensor 'w'; the map is empty");
  for (int i = 0; i < 10; ++i) tensors[std::to_string(i)] = zeros({1});
  EXPECT_EQ(
      errorOf([&] { tensor_named(tensors, "nothing"); }),
      "tensor_named: there is no tensor 'nothing'; the names are '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' "
      "and 2 more");
}

TEST_P(Saving, AFailureLeavesTheFileAsItWasAndNothingElse) {
  save({{"w", ones({2})}}, path());
  const std::string before = folder.read(std::string("x") + GetParam());
  // As with a full disk: more bytes than this can't be written.
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{10000, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = errorOfSaving({{"w", zeros({1000000})}});
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(error, AllOf(HasSubstr("can't be written"), HasSubstr(path())));
  EXPECT_EQ(folder.read(std::string("x") + GetParam()), before);
  EXPECT_THAT(folder.names(), ElementsAre(std::string("x") + GetParam()));
}

TEST_P(Saving, PlacesThatTakeNoFileAreErrors) {
  const std::map<std::string, Tensor> tensors = {{"w", ones({2})}};
  const std::string nowhere = folder.path("no/such/x") + GetParam();
  EXPECT_THAT(errorOf([&] { save(tensors, nowhere); }), AllOf(HasSubstr("No such file"), HasSubstr(nowhere)));
  std::filesystem::create_directory(path("folder"));
  EXPECT_THAT(errorOf([&] { save(tensors, path("folder")); }), HasSubstr("is not a regular file"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(errorOf([&] { save(tensors, path("pipe")); }), HasSubstr("is not a regular file"));
  EXPECT_THAT(errorOf([&] { save(tensors, std::string("/proc/x") + GetParam()); }), HasSubstr("'/proc/x"));
  EXPECT_EQ(folder.names().size(), 2u);
}

TEST_P(Saving, PermissionsAreThoseOfANewFile) {
  for (const mode_t mask : {022, 027, 077}) {
    const mode_t before = umask(mask);
    save({{"w", ones({2})}}, path());
    umask(before);
    struct stat status{};
    ASSERT_EQ(stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
  }
}

TEST_P(Saving, ALinkIsFollowed) {
  const std::string name = std::string("x") + GetParam(), link = std::string("link") + GetParam();
  std::filesystem::create_directory(folder.path("sub"));
  std::filesystem::create_symlink("sub/" + name, folder.path(link));
  save({{"w", ones({2})}}, folder.path(link));  // of a file that isn't there yet
  save({{"w", ones({3})}}, folder.path(link));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path(link)));
  EXPECT_EQ(load(folder.path("sub/" + name)).at("w").numel(), 3);
  EXPECT_THAT(folder.names(), UnorderedElementsAre(link, "sub"));
  std::filesystem::create_symlink("loop" + std::string(GetParam()), path("loop"));
  EXPECT_THAT(errorOf([&] { save({}, path("loop")); }), HasSubstr("symbolic links"));
}

TEST_P(Saving, ALongNameIsFine) {
  const std::string stem(255 - std::string(GetParam()).size(), 'n');
  save({{"w", ones({2})}}, path(stem));
  EXPECT_EQ(load(path(stem)).at("w").numel(), 2);
}

TEST_P(Saving, TheSameTensorsGiveTheSameBytes) {
  const std::map<std::string, Tensor> tensors = {{"w", ones({2})}, {"b", numbered({5}, kByte)}};
  save(tensors, path("one"));
  save(tensors, path("two"));
  EXPECT_EQ(folder.read(std::string("one") + GetParam()), folder.read(std::string("two") + GetParam()));
}

}  // namespace
}  // namespace shunt
