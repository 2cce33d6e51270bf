// .npy and .npz: what NumPy writes, in all its versions, orders and ways to pack, and what Shunt writes.
#include "tests/files/samples.h"
#include "tests/files/zip_builder.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shunt {
namespace {

using namespace test;
using test::kButStrides;
using test::sameBits;
using testing::AllOf;
using testing::HasSubstr;

constexpr ScalarType kNumpyDtypes[] = {kBool, kByte, kChar, kShort, kInt, kLong, kHalf, kFloat, kDouble};

class Npy : public testing::Test {
 protected:
  Tensor read(const std::string& bytes) const { return load_npy(folder.write("x.npy", bytes)); }
  std::string error(const std::string& bytes) const {
    return errorOf([&] { read(bytes); });
  }
  const FileFolder folder;
};

TEST_F(Npy, BytesAreThoseOfTheFormat) {
  save_npy(tensor({{1, 2, 3}, {4, 5, 6}}, kShort), folder.path("x.npy"));
  std::string dict = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  dict.resize(128 - 10 - 1, ' ');
  EXPECT_EQ(folder.read("x.npy"),
            npy(dict.substr(0, 64 * 1 + 64 - 11) + "\n", bytesOf(tensor({1, 2, 3, 4, 5, 6}, kShort))));
  save_npy(tensor(true), folder.path("b.npy"));
  EXPECT_THAT(folder.read("b.npy"), HasSubstr("{'descr': '|b1', 'fortran_order': False, 'shape': (), }"));
  save_npy(ones({7}), folder.path("f.npy"));
  EXPECT_THAT(folder.read("f.npy"), HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }"));
}

TEST_F(Npy, EveryDtypeShapeAndLayoutComesBack) {
  for (const ScalarType dtype : kNumpyDtypes)
    for (const Tensor& t : {numbered({}, dtype), numbered({0}, dtype), numbered({2, 0, 3}, dtype), numbered({5}, dtype),
                            numbered({2, 3, 4}, dtype), numbered({4, 3}, dtype).t(),
                            numbered({6, 4}, dtype).slice(0, 1, 6, 2), numbered({1}, dtype).expand({3, 2, 1})}) {
      save_npy(t, folder.path("x.npy"));
      EXPECT_TRUE(sameBits(load_npy(folder.path("x.npy")), t, kButStrides)) << dtype << t.sizes();
    }
}

TEST_F(Npy, VersionsDifferInTheirLength) {
  const std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  for (const int version : {1, 2, 3})
    EXPECT_TRUE(sameBits(read(npy(dict, "\x01\x02", version)), tensor({1, 2}, kByte), kButStrides));
  EXPECT_THAT(error(npy(dict, "\x01\x02", 4)), HasSubstr("version 4.0"));
}

TEST_F(Npy, BothByteOrdersAreRead) {
  for (const ScalarType dtype : kNumpyDtypes) {
    const Tensor t = numbered({3, 2}, dtype);
    save_npy(t, folder.path("x.npy"));
    std::string bytes = folder.read("x.npy");
    if (t.itemsize() == 1) continue;
    bytes.replace(bytes.find("'<") + 1, 1, ">");
    const size_t item = static_cast<size_t>(t.itemsize());
    for (auto at = bytes.end() - static_cast<ptrdiff_t>(t.nbytes()); at != bytes.end();
         at += static_cast<ptrdiff_t>(item))
      std::reverse(at, at + static_cast<ptrdiff_t>(item));
    EXPECT_TRUE(sameBits(read(bytes), t, kButStrides)) << dtype;
  }
}

TEST_F(Npy, FortransOrderIsAMatterOfStrides) {
  const Tensor t = read(
      npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", bytesOf(tensor({1, 4, 2, 5, 3, 6}, kShort))));
  EXPECT_TRUE(sameBits(t, tensor({{1, 2, 3}, {4, 5, 6}}, kShort), kButStrides));
  EXPECT_EQ(t.strides(), IntArrayRef({1, 2}));
  EXPECT_EQ(read(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (0, 3), }", "")).numel(), 0);
  EXPECT_EQ(read(npy("{'descr': '|i1', 'fortran_order': True, 'shape': (), }", "\x05")).item<int64_t>(), 5);
}

TEST_F(Npy, HeadersMayBeSpacedAndQuotedOtherwise) {
  for (const char* dict : {"{\"shape\":(2 ,),'descr':\"<u1\",'fortran_order':False}",
                           "{'shape':(2L,) ,'fortran_order':False, 'descr':'u1',}  \n",
                           "{'descr': '=u1', 'fortran_order': False, 'shape': (2,)}\n\n"})
    EXPECT_TRUE(sameBits(read(npy(dict, "\x01\x02")), tensor({1, 2}, kByte), kButStrides)) << dict;
}

TEST_F(Npy, OtherDtypesAreErrorsThatSayWhy) {
  const auto of = [&](const std::string& descr) {
    return error(npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,), }", std::string(16, '\0')));
  };
  EXPECT_THAT(of("'<c8'"), HasSubstr("complex"));
  EXPECT_THAT(of("'|O'"), HasSubstr("Python objects"));
  EXPECT_THAT(of("'|V2'"), HasSubstr("bfloat16"));
  EXPECT_THAT(of("[('x', '<f4'), ('y', '<f4')]"), HasSubstr("structured"));
  for (const char* descr :
       {"'<u2'", "'<u4'", "'<u8'", "'<f16'", "'<U5'", "'|S3'", "'<M8[ns]'", "'<f4x'", "''", "'<'", "'f'", "'\\x3cf4'"})
    EXPECT_THAT(of(descr), HasSubstr("has dtype")) << descr;
}

TEST_F(Npy, WrongHeadersAreErrors) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string dict = good;
    dict.replace(dict.find(from), from.size(), to);
    return error(npy(dict, "\x01\x02"));
  };
  EXPECT_THAT(with("(2,)", "(2)"), HasSubstr("','"));
  EXPECT_THAT(with("(2,)", "(-2,)"), HasSubstr("negative"));
  EXPECT_THAT(with("(2,)", "(99999999999999999999,)"), HasSubstr("63 bits"));
  EXPECT_THAT(with("(2,)", "(4294967296, 4294967296)"), HasSubstr("64 bits"));
  EXPECT_THAT(with("(2,)", "(0, 4294967296, 4294967296)"), HasSubstr("64 bits"));
  EXPECT_THAT(with("(2,)", "(9223372036854775807,)"), HasSubstr("is cut off"));
  EXPECT_THAT(with("(2,)", "(2.0,)"), HasSubstr("expected"));
  EXPECT_THAT(with("(2,)", "[2]"), HasSubstr("expected '('"));
  EXPECT_THAT(with("(2,)", "(1,,2)"), HasSubstr("a dimension"));
  EXPECT_THAT(with("(2,)", "(1 2)"), HasSubstr("expected"));
  EXPECT_THAT(with("(2,)", "(2,"), HasSubstr("expected"));
  EXPECT_THAT(with("False", "0"), HasSubstr("True or False"));
  EXPECT_THAT(with("'shape'", "'shapes'"), HasSubstr("unknown key 'shapes'"));
  EXPECT_THAT(with("'fortran_order': False, ", ""), HasSubstr("no fortran_order"));
  EXPECT_THAT(with("'fortran_order': False", "'descr': '|u1'"), HasSubstr("descr twice"));
  EXPECT_THAT(with("}", "} or __import__('os')"), HasSubstr("the end"));
  EXPECT_THAT(with("{", ""), HasSubstr("expected '{'"));
  EXPECT_THAT(with("'|u1'", "'|u1"), HasSubstr("has dtype"));
  EXPECT_THAT(error(npy("", "")), HasSubstr("expected '{'"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  EXPECT_THAT(with("(2,)", many + ")"), HasSubstr("64 dimensions"));
  EXPECT_THAT(error(npy(std::string(2 << 20, ' '), "", 2)), HasSubstr("at most 1048576"));
  EXPECT_THAT(error(npy(good, "\x01")), HasSubstr("is cut off"));
  EXPECT_THAT(error(npy(good, "\x01\x02\x03")), HasSubstr("grown"));
  EXPECT_THAT(error(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\x01\x02")),
              HasSubstr("element 1 is 2"));
  EXPECT_THAT(error("PK\3\4 and so on"), HasSubstr("load()"));
  EXPECT_THAT(error(""), HasSubstr("is not .npy data"));
}

TEST(Npz, EveryDtypeShapeAndLayoutComesBack) {
  const FileFolder folder;
  std::map<std::string, Tensor> all = {{"", zeros({1})}, {"größe/x", ones({2})}, {"x.npy", zeros({3})}};
  for (const ScalarType dtype : kNumpyDtypes) {
    all[std::string(dtypeName(dtype)) + "/0-dim"] = numbered({}, dtype);
    all[std::string(dtypeName(dtype)) + "/empty"] = numbered({0, 2}, dtype);
    all[std::string(dtypeName(dtype)) + "/t"] = numbered({3, 4}, dtype).t();
  }
  save(all, folder.path("all.npz"));
  const auto back = load(folder.path("all.npz"));
  ASSERT_EQ(back.size(), all.size());
  for (const auto& [name, t] : all) EXPECT_TRUE(sameBits(back.at(name), t, kButStrides)) << name;
  EXPECT_TRUE(load_metadata(folder.path("all.npz")).empty());
}

TEST(Npz, EveryWayToPackIsRead) {
  const FileFolder folder;
  save_npy(numbered({1000}, kInt), folder.path("a.npy"));
  save_npy(numbered({2}, kBool), folder.path("b.npy"));
  for (int bits = 0; bits < 32; ++bits) {
    ZipOptions options;
    options.deflate = (bits & 1) != 0;
    options.descriptor = (bits & 2) != 0;
    options.signature = (bits & 4) != 0;
    options.zip64 = (bits & 8) != 0;
    if ((bits & 16) != 0) options.comment = "with PK\5\6 in it, but of another length";
    ZipBuilder zip(options);
    zip.add("a.npy", folder.read("a.npy")).add("folder/", "").add("folder/b.npy", folder.read("b.npy"));
    std::map<std::string, Tensor> back;
    EXPECT_EQ(errorOf([&] { back = load(folder.write("x.npz", zip.bytes())); }), "no error") << bits;
    ASSERT_EQ(back.size(), 2u) << bits;
    EXPECT_TRUE(sameBits(back.at("a"), numbered({1000}, kInt), kButStrides)) << bits;
    EXPECT_TRUE(sameBits(back.at("folder/b"), numbered({2}, kBool), kButStrides)) << bits;
  }
}

TEST(Npz, MoreEntriesThanTheOldFormatCounts) {
  const FileFolder folder;
  std::map<std::string, Tensor> many;
  const Tensor all = numbered({70000}, kByte);
  for (int64_t i = 0; i < all.size(0); ++i) many.emplace(std::to_string(i), all.narrow(0, i, 1));
  save(many, folder.path("many.npz"));
  const auto back = load(folder.path("many.npz"));
  ASSERT_EQ(back.size(), many.size());
  EXPECT_EQ(back.at("69999").item<int64_t>(), 69999 % 101);
}

}  // namespace
}  // namespace shunt
