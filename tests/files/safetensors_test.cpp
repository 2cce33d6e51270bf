// .safetensors: bytes as the format has them, every dtype, shape and layout, and tensors that are the file's pages.
#include "tests/files/samples.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace shunt {
namespace {

using namespace test;
using test::kButStrides;
using test::sameBits;
using testing::HasSubstr;

TEST(Safetensors, BytesAreThoseOfTheFormat) {
  const FileFolder folder;
  save({{"a", tensor(200, kByte)}, {"b", tensor({1, -2}, kShort)}}, folder.path("g.safetensors"), {{"by", "\"me\""}});
  const std::string bytes = folder.read("g.safetensors");
  std::string header = R"({"__metadata__":{"by":"\"me\""},"b":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"U8","shape":[],"data_offsets":[4,5]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(bytes, safetensors(header, std::string("\x01\x00\xfe\xff\xc8", 5)));
}

TEST(Safetensors, EveryDtypeShapeAndLayoutComesBack) {
  const FileFolder folder;
  std::map<std::string, Tensor> all;
  for (const ScalarType dtype : kAllDtypes) {
    const std::string name = dtypeName(dtype);
    all[name + "/0-dim"] = numbered({}, dtype);
    all[name + "/empty"] = numbered({3, 0, 2}, dtype);
    all[name + "/odd"] = numbered({7}, dtype);
    all[name + "/cube"] = numbered({3, 4, 5}, dtype);
    all[name + "/transposed"] = numbered({4, 5}, dtype).t();
    all[name + "/sliced"] = numbered({6, 6}, dtype).narrow(1, 1, 3);
    all[name + "/expanded"] = numbered({3, 1}, dtype).expand({3, 4});
    all[name + "/every second"] = numbered({9}, dtype).slice(0, 1, 9, 2);
  }
  save(all, folder.path("all.safetensors"));
  const auto back = load(folder.path("all.safetensors"));
  ASSERT_EQ(back.size(), all.size());
  for (const auto& [name, t] : all) {
    ASSERT_TRUE(back.contains(name)) << name;
    EXPECT_TRUE(sameBits(back.at(name), t, kButStrides)) << name;
    EXPECT_TRUE(back.at(name).is_contiguous()) << name;
    EXPECT_FALSE(back.at(name).requires_grad()) << name;
  }
}

TEST(Safetensors, EveryBitIsKept) {
  const FileFolder folder;
  std::vector<uint32_t> bits = {0x7fc00001, 0xffc00000, 0x7f800001, 0x80000000, 0x00000001, 0x7f7fffff};
  const Tensor odd = from_blob(bits.data(), {6}, kFloat);
  save({{"odd", odd}}, folder.path("x.safetensors"));
  EXPECT_TRUE(sameBits(load(folder.path("x.safetensors")).at("odd"), odd, kButStrides));
}

TEST(Safetensors, NothingIsAFileToo) {
  const FileFolder folder;
  save({}, folder.path("none.safetensors"));
  EXPECT_TRUE(load(folder.path("none.safetensors")).empty());
  EXPECT_TRUE(load_metadata(folder.path("none.safetensors")).empty());
  EXPECT_TRUE(load(folder.write("least.safetensors", safetensors("{}", ""))).empty());
}

TEST(Safetensors, MetadataAndNamesAreAnyText) {
  const FileFolder folder;
  const std::map<std::string, std::string> metadata = {
      {"", ""}, {"format", "pt"}, {"\"quoted\"\n\t\\", "\x01\x7f"}, {"größe", "日本語 \xf0\x9f\xa6\x8a"}};
  const std::map<std::string, Tensor> tensors = {
      {"", zeros({1})}, {"layer.0/weight \"x\"", ones({2})}, {"größe", zeros({3})}};
  save(tensors, folder.path("text.safetensors"), metadata);
  EXPECT_EQ(load_metadata(folder.path("text.safetensors")), metadata);
  const auto back = load(folder.path("text.safetensors"));
  ASSERT_EQ(back.size(), 3u);
  for (const auto& [name, t] : tensors) EXPECT_TRUE(sameBits(back.at(name), t, kButStrides)) << name;
}

TEST(Safetensors, FilesOfOtherWritersAreRead) {
  const FileFolder folder;
  // Fields in another order and unknown ones, white space, escapes, an order of data that isn't that of the names.
  const std::string header =
      " {\"\\u0061\" : {\"shape\":[1, 2],\"later\":{\"x\":[[],{\"y\":1.5}]},\"data_offsets\":[2,4], "
      "\"dtype\":\"U8\"},\n"
      "\"b\":{\"data_offsets\":[0,2],\"dtype\":\"BF16\",\"shape\":[]}, \"__metadata__\": null}   ";
  const auto back = load(folder.write("o.safetensors", safetensors(header.substr(1), "\x80\x3f\x05\x06")));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_TRUE(sameBits(back.at("a"), tensor({{5, 6}}, kByte), kButStrides));
  EXPECT_TRUE(sameBits(back.at("b"), tensor(1.0, kBFloat16), kButStrides));
}

/// Whether the tensor's elements lie in a mapping of the file.
bool isMapped(const Tensor& t, const std::string& path) {
  const auto at = reinterpret_cast<uintptr_t>(t.data_ptr());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2 && begin <= at && at < end) return line.ends_with(path);
  }
  return false;
}
bool anyMapping(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(path)) return true;
  return false;
}

TEST(SafetensorsPages, TensorsAreTheFilesPagesAndTheLastOneUnmapsThem) {
  const FileFolder folder;
  const std::string path = folder.path("p.safetensors");
  std::map<std::string, Tensor> all;
  for (const ScalarType dtype : kAllDtypes) all[dtypeName(dtype)] = numbered({3}, dtype);
  save(all, path);
  auto back = load(path);
  for (const auto& [name, t] : back) EXPECT_TRUE(isMapped(t, path)) << name;
  Tensor kept = back.at("int16").narrow(0, 1, 2);
  back.clear();
  EXPECT_TRUE(anyMapping(path));
  std::filesystem::remove(path);  // the pages stay
  EXPECT_EQ(kept.sum().item<int64_t>(), 3);
  kept = Tensor();
  EXPECT_FALSE(anyMapping(path + " (deleted)"));
}

TEST(SafetensorsPages, WritingChangesTheTensorAndNeverTheFile) {
  const FileFolder folder;
  const std::string path = folder.path("w.safetensors");
  save({{"a", zeros({5000})}, {"b", ones({3})}}, path);
  const std::string before = folder.read("w.safetensors");
  const auto first = load(path), second = load(path);
  first.at("a").add_(1);
  first.at("b").fill_(7);
  EXPECT_EQ(first.at("a").sum().item<float>(), 5000);
  EXPECT_EQ(second.at("a").sum().item<float>(), 0);
  EXPECT_EQ(second.at("b").sum().item<float>(), 3);
  EXPECT_EQ(folder.read("w.safetensors"), before);
}

TEST(SafetensorsPages, TheirPathMayBeSavedTo) {
  const FileFolder folder;
  const std::string path = folder.path("s.safetensors");
  save({{"a", full({4096}, 1)}}, path);
  const auto old = load(path);
  save({{"a", old.at("a") * 2}}, path);
  EXPECT_EQ(old.at("a").sum().item<float>(), 4096);
  EXPECT_EQ(load(path).at("a").sum().item<float>(), 2 * 4096);
}

TEST(SafetensorsPages, MisalignedTensorsAreCopies) {
  const FileFolder folder;
  const std::string data = bytesOf(tensor({1.5, -2.0}, kFloat)) + "\x03";
  for (int spaces = 0; spaces < 8; ++spaces) {
    const std::string header = R"({"f":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("u":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})" +
                               std::string(static_cast<size_t>(spaces), ' ');
    const std::string path = folder.write("m.safetensors", safetensors(header, data));
    const auto back = load(path);
    EXPECT_TRUE(sameBits(back.at("f"), tensor({1.5, -2.0}, kFloat), kButStrides));
    EXPECT_EQ(back.at("u").item<int64_t>(), 3);
    EXPECT_EQ(isMapped(back.at("f"), path), header.size() % 4 == 0) << header.size();
    EXPECT_TRUE(isMapped(back.at("u"), path));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(back.at("f").data_ptr()) % 4, 0u);
  }
}

TEST(SafetensorsPages, TheyCantBeResized) {
  const FileFolder folder;
  save({{"a", zeros({4})}}, folder.path("r.safetensors"));
  const Tensor a = load(folder.path("r.safetensors")).at("a");
  EXPECT_THAT(errorOf([&] { a.resize_({100}); }), HasSubstr("not resizable"));
  a.clone().resize_({100});
}

TEST(Safetensors, WeightsAreSavedWithoutTheirGraphAndCanBeTrainedAgain) {
  const FileFolder folder;
  const std::string path = folder.path("t.safetensors");
  Tensor w = ones({2, 2});
  w.requires_grad_();
  save({{"w", w}, {"result", w * 3}}, path);
  auto back = load(path);
  back.at("w").requires_grad_();
  (back.at("w") * back.at("result")).sum().backward();
  EXPECT_TRUE(sameBits(back.at("w").grad(), full({2, 2}, 3.0), kButStrides));
  const NoGradGuard no_grad;
  back.at("w").sub_(1);
  EXPECT_EQ(back.at("w").sum().item<float>(), 0);
}

}  // namespace
}  // namespace shunt
