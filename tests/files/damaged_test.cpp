// Damaged files: each is an error that names the file, the tensor, what was expected and what was found.
#include "tests/files/samples.h"
#include "tests/files/zip_builder.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shunt {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Damaged : public testing::Test {
 protected:
  std::string errorOfLoading(const std::string& name, const std::string& bytes) const {
    const std::string path = folder.write(name, bytes);
    const bool one = name.ends_with(".npy");
    const std::string error = errorOf([&] { one ? (void)load_npy(path) : (void)load(path); });
    if (error != "no error") EXPECT_THAT(error, StartsWith((one ? "load_npy: '" : "load: '") + path + "': "));
    return error;
  }
  std::string header(const std::string& text, const std::string& data = "") const {
    return errorOfLoading("x.safetensors", safetensors(text, data));
  }
  /// A tensor x of two bytes, with this in place of one of its fields.
  std::string field(const std::string& name, const std::string& value) const {
    std::map<std::string, std::string> fields = {{"dtype", "\"U8\""}, {"shape", "[2]"}, {"data_offsets", "[0,2]"}};
    fields[name] = value;
    std::string text;
    for (const auto& [key, is] : fields) text += (text.empty() ? "" : ",") + ("\"" + key + "\":" + is);
    return header("{\"x\":{" + text + "}}", "ab");
  }
  /// Every file that is cut, has grown, or has a wrong byte: an error or, where the byte is an element's, no error.
  void damageEverywhere(const std::string& name, const std::string& bytes, bool has_checksums) const {
    for (size_t n = 0; n < bytes.size(); ++n) EXPECT_NE(errorOfLoading(name, bytes.substr(0, n)), "no error") << n;
    for (const std::string& more : {std::string(1, '\0'), std::string("PK"), std::string(100000, 'x')})
      EXPECT_NE(errorOfLoading(name, bytes + more), "no error");
    EXPECT_NE(errorOfLoading(name, "x" + bytes), "no error");
    for (size_t at = 0; at < bytes.size(); ++at)
      for (const int flip : {1, 0xff}) {
        std::string wrong = bytes;
        wrong[at] = static_cast<char>(wrong[at] ^ flip);
        const std::string error = errorOfLoading(name, wrong);
        if (has_checksums && error == "no error") unnoticed_ += wrong[at] == bytes[at] ? 0 : 1;
      }
  }
  const FileFolder folder;
  mutable int unnoticed_ = 0;
};

TEST_F(Damaged, SafetensorsEverywhere) {
  save({{"a", numbered({2, 3}, kFloat)}, {"b", numbered({5}, kBool)}, {"c", numbered({}, kLong)}},
       folder.path("g.safetensors"), {{"k", "v"}});
  damageEverywhere("x.safetensors", folder.read("g.safetensors"), false);
}

TEST_F(Damaged, NpyEverywhere) {
  save_npy(numbered({2, 3}, kFloat), folder.path("g.npy"));
  damageEverywhere("x.npy", folder.read("g.npy"), false);
}

TEST_F(Damaged, NpzEverywhere) {
  save_npy(numbered({3}, kFloat), folder.path("a.npy"));
  for (const bool stream : {false, true}) {
    ZipOptions options;
    options.deflate = options.descriptor = options.zip64 = stream;
    damageEverywhere("x.npz",
                     ZipBuilder(options).add("a.npy", folder.read("a.npy")).add("b.npy", folder.read("a.npy")).bytes(),
                     true);
  }
  // Versions, times and attributes, which mean nothing here; extra fields' names and bytes; and unused flags.
  EXPECT_LT(unnoticed_, 700);
}

TEST_F(Damaged, LengthsOfHeaders) {
  const auto of = [&](uint64_t length, const std::string& rest) {
    return errorOfLoading("x.safetensors", littleEndian(length, 8) + rest);
  };
  EXPECT_THAT(errorOfLoading("x.safetensors", ""), HasSubstr("0 bytes"));
  EXPECT_THAT(errorOfLoading("x.safetensors", "1234567"),
              HasSubstr("': is not a .safetensors file: it has 7 bytes, expected at least 8"));
  EXPECT_THAT(errorOfLoading("x.npz", "PK"),
              HasSubstr("': is not an .npz file, or it is cut off or has grown: expected a zip directory at its end"));
  EXPECT_THAT(of(0, ""), HasSubstr("instead of '{'"));
  EXPECT_THAT(
      of(3, "{}"),
      HasSubstr("': is cut off, or not a .safetensors file: its first 8 bytes say that a header of 3 bytes follows, "
                "but 2 bytes follow"));
  for (const uint64_t huge : {uint64_t{100} << 20, UINT64_MAX, UINT64_MAX - 7, uint64_t{1} << 63})
    EXPECT_THAT(of(huge, "{}"), HasSubstr("cut off")) << huge;
  // As large as it says, without a byte on the disk.
  const std::string path = folder.write("huge.safetensors", littleEndian(100'000'001, 8) + "{");
  ASSERT_EQ(truncate(path.c_str(), 200'000'000), 0);
  EXPECT_THAT(errorOf([&] { load(path); }), HasSubstr("limit is 100000000"));
}

TEST_F(Damaged, HeadersThatAreNoSuchJson) {
  EXPECT_THAT(header("[]"), HasSubstr("instead of '{'"));
  EXPECT_THAT(header("\xef\xbb\xbf{}"), HasSubstr("instead of '{'"));
  EXPECT_THAT(header("{"), HasSubstr("is not JSON"));
  EXPECT_THAT(header("{}}"), HasSubstr("is not JSON"));
  EXPECT_THAT(header(std::string("{}\0\0", 4)), HasSubstr("byte 2 is a zero"));
  EXPECT_THAT(header("{'x':1}"), HasSubstr("is not JSON"));
  EXPECT_THAT(header("{\"x\":{},}"), AllOf(HasSubstr("'x'")));
  EXPECT_THAT(header("{\"\xff\":{}}"), HasSubstr("UTF-8"));
  EXPECT_THAT(header("{\"\xed\xa0\x80\":{}}"), HasSubstr("UTF-8"));
  EXPECT_THAT(header("{\"a\\u0000b\":{}}"), HasSubstr("zero byte"));
  EXPECT_THAT(header("{\"\\ud800\":{}}"), HasSubstr("is not JSON"));
  EXPECT_THAT(header("{\"x\":1}"),
              AllOf(HasSubstr("tensor 'x'"), HasSubstr("expected an object"), HasSubstr("found the number 1")));
  EXPECT_THAT(header("{\"x\":null}"), AllOf(HasSubstr("tensor 'x'"), HasSubstr("found null")));
  EXPECT_THAT(header("{\"x\":[]}"), AllOf(HasSubstr("tensor 'x'"), HasSubstr("found a list")));
  EXPECT_THAT(header("{\"x\":{}}"), AllOf(HasSubstr("tensor 'x'"), HasSubstr("has no dtype")));
  EXPECT_THAT(header("{\"__metadata__\":{\"k\":1}}"), AllOf(HasSubstr("__metadata__"), HasSubstr("'k'")));
  EXPECT_THAT(header("{\"__metadata__\":[]}"), HasSubstr("__metadata__"));
  EXPECT_THAT(header("{\"__metadata__\":{\"k\":{}}}"), HasSubstr("'k'"));
  for (const std::string& deep :
       {std::string(100000, '['), std::string("{\"x\":{\"later\":") + std::string(100000, '[')})
    EXPECT_NE(header(deep), "no error");
  std::string nested = "{\"x\":{\"later\":" + std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(header(nested + ",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", "a"), "no error");
}

TEST_F(Damaged, NamesThatStandThereTwice) {
  const std::string x = "{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}";
  EXPECT_THAT(header("{\"x\":" + x + ",\"x\":" + x + "}", "a"), HasSubstr("'x' occurs twice"));
  EXPECT_THAT(header("{\"x\":" + x + ",\"\\u0078\":" + x + "}", "a"), HasSubstr("'x' occurs twice"));
  EXPECT_THAT(header("{\"__metadata__\":{},\"__metadata__\":{}}"), HasSubstr("__metadata__ twice"));
  EXPECT_THAT(header("{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}}"), HasSubstr("'k' twice"));
  EXPECT_THAT(header("{\"x\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"), HasSubstr("dtype twice"));
  EXPECT_THAT(header("{\"x\":{\"shape\":[],\"shape\":[]}}"), HasSubstr("shape twice"));
  EXPECT_THAT(header("{\"x\":{\"data_offsets\":[0,0],\"data_offsets\":[0,0]}}"), HasSubstr("data_offsets twice"));
}

TEST_F(Damaged, FieldsOfTensors) {
  EXPECT_EQ(field("dtype", "\"U8\""), "no error");
  for (const char* dtype : {"F8_E4M3", "U16", "U64", "C64", "u8", "", "F4"})
    EXPECT_THAT(field("dtype", "\"" + std::string(dtype) + "\""),
                AllOf(HasSubstr("tensor 'x'"), HasSubstr("'" + std::string(dtype) + "'"), HasSubstr("BF16")));
  EXPECT_THAT(field("dtype", "8"), HasSubstr("the name of a dtype"));
  EXPECT_THAT(field("dtype", "\"I16\""), AllOf(HasSubstr("takes 4 bytes"), HasSubstr("are 2")));
  EXPECT_THAT(field("shape", "3"), HasSubstr("a list of numbers"));
  EXPECT_THAT(field("shape", "[[2]]"), HasSubstr("found a list"));
  EXPECT_THAT(field("shape", "[{}]"), HasSubstr("found an object"));
  EXPECT_THAT(field("shape", "[-2]"), HasSubstr("found the number -2"));
  EXPECT_THAT(field("shape", "[2.0]"), HasSubstr("found the number '2.0'"));
  EXPECT_THAT(field("shape", "[\"2\"]"), HasSubstr("found the text '2'"));
  EXPECT_THAT(field("shape", "[1]"), HasSubstr("takes 1 bytes"));
  EXPECT_THAT(field("shape", "[9223372036854775808]"), HasSubstr("63 bits"));
  EXPECT_THAT(field("shape", "[99999999999999999999]"), HasSubstr("found the number"));
  EXPECT_THAT(field("shape", "[4294967296,4294967296,4294967296]"), HasSubstr("64 bits"));
  EXPECT_THAT(field("shape", "[9223372036854775807,2,0]"), HasSubstr("64 bits"));
  EXPECT_THAT(field("shape", "[9223372036854775807]"), HasSubstr("takes 9223372036854775807 bytes"));
  std::string many = "[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(field("shape", many + "]"), HasSubstr("64 dimensions"));
  EXPECT_THAT(field("data_offsets", "[0]"), HasSubstr("fewer than 2"));
  EXPECT_THAT(field("data_offsets", "[]"), HasSubstr("fewer than 2"));
  EXPECT_THAT(field("data_offsets", "[0,2,3]"), HasSubstr("more than 2"));
  EXPECT_THAT(field("data_offsets", "null"), HasSubstr("a list of 2 numbers"));
  EXPECT_THAT(field("data_offsets", "[2,0]"), HasSubstr("end before they begin"));
  EXPECT_THAT(field("data_offsets", "[1,3]"), HasSubstr("reach beyond the file"));
  EXPECT_THAT(field("data_offsets", "[18446744073709551614,18446744073709551615]"), HasSubstr("reach beyond the file"));
  EXPECT_THAT(field("data_offsets", "[0,18446744073709551616]"), HasSubstr("found the number"));
  EXPECT_THAT(field("dtype", "\"BOOL\""), HasSubstr("tensor 'x': element 0 is 97"));
}

TEST_F(Damaged, PlacesOfTensors) {
  const auto two = [&](int a, int b, int c, int d, const std::string& data) {
    const auto entry = [](int begin, int end) {
      return "{\"dtype\":\"U8\",\"shape\":[" + std::to_string(end - begin) + "],\"data_offsets\":[" +
             std::to_string(begin) + "," + std::to_string(end) + "]}";
    };
    return header("{\"x\":" + entry(a, b) + ",\"y\":" + entry(c, d) + "}", data);
  };
  EXPECT_EQ(two(0, 2, 2, 4, "abcd"), "no error");
  EXPECT_EQ(two(2, 4, 0, 2, "abcd"), "no error");
  EXPECT_EQ(two(0, 2, 2, 2, "ab"), "no error");
  EXPECT_THAT(two(0, 3, 2, 4, "abcd"), AllOf(HasSubstr("'x' and 'y' overlap"), HasSubstr("byte 3"), HasSubstr("at 2")));
  EXPECT_THAT(two(0, 4, 0, 4, "abcd"), HasSubstr("overlap"));
  EXPECT_THAT(two(0, 1, 2, 4, "abcd"), AllOf(HasSubstr("tensor 'y'"), HasSubstr("from 1 on are no tensor's")));
  EXPECT_THAT(two(1, 2, 2, 4, "abcd"), AllOf(HasSubstr("tensor 'x'"), HasSubstr("from 0 on")));
  EXPECT_THAT(two(0, 2, 2, 3, "abcd"), AllOf(HasSubstr("4 bytes"), HasSubstr("end at 3"), HasSubstr("grown")));
  EXPECT_THAT(two(0, 2, 2, 5, "abcd"), HasSubstr("'y'"));
}

TEST_F(Damaged, ZipDirectoriesThatLie) {
  save_npy(numbered({300}, kByte), folder.path("a.npy"));
  const std::string array = folder.read("a.npy"), packed = deflated(array);
  const uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(array.data()), array.size());
  const auto of = [&](const ZipBuilder& zip) { return errorOfLoading("x.npz", zip.bytes()); };
  const auto entry = [&](const std::string& data, uint64_t its_crc, uint64_t size, int method, int flags = 0) {
    return of(ZipBuilder().addPacked("a.npy", data, its_crc, size, method, flags));
  };
  EXPECT_EQ(entry(packed, crc, array.size(), 8), "no error");
  EXPECT_THAT(entry(packed, crc ^ 1, array.size(), 8), AllOf(HasSubstr("'a.npy'"), HasSubstr("CRC")));
  EXPECT_THAT(entry(array, crc ^ 1, array.size(), 0), HasSubstr("CRC"));
  EXPECT_THAT(entry(packed, crc, array.size() - 1, 8), HasSubstr("is cut off"));
  EXPECT_THAT(entry(packed, crc, array.size() + 1, 8), HasSubstr("has grown"));
  EXPECT_THAT(entry(packed.substr(0, packed.size() - 5), crc, array.size(), 8), HasSubstr("is cut off"));
  EXPECT_THAT(entry(packed + "xx", crc, array.size(), 8), HasSubstr("before its packed size"));
  EXPECT_THAT(entry(array.substr(0, array.size() - 1), crc, array.size(), 0), HasSubstr("is stored in"));
  EXPECT_THAT(entry(packed, crc, array.size(), 14), HasSubstr("method 14"));
  EXPECT_THAT(entry(packed, crc, array.size(), 8, 1), HasSubstr("encrypted"));
  EXPECT_THAT(entry(packed, crc, 4000000000, 8), HasSubstr("more than deflated data of"));
  EXPECT_THAT(entry(std::string(100, '\xff'), crc, array.size(), 8), HasSubstr("is damaged"));
  EXPECT_THAT(of(ZipBuilder().add("a.npy", array).add("a.npy", array)), HasSubstr("'a.npy' occurs twice"));
  EXPECT_THAT(of(ZipBuilder().add("a.txt", "text")), AllOf(HasSubstr("'a.txt'"), HasSubstr(".npy")));
  EXPECT_THAT(of(ZipBuilder().add(std::string("a\0.npy", 6), array)), HasSubstr("zero byte"));
  EXPECT_THAT(of(ZipBuilder().add("\xff.npy", array)), HasSubstr("not UTF-8"));
  EXPECT_THAT(of(ZipBuilder().add("a.npy", "text")), AllOf(HasSubstr("tensor 'a'"), HasSubstr("is not .npy data")));
}

TEST_F(Damaged, ABombTakesNoMoreThanItsFile) {
  // A shape of 2 TiB that deflated data of 2 GiB could hold: the file has 100 bytes.
  std::string array = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2199023255552,), }", "");
  const std::string packed = deflated(array);
  ZipOptions wide;
  wide.zip64 = true;
  EXPECT_THAT(
      errorOfLoading("x.npz",
                     ZipBuilder(wide).addPacked("a.npy", packed, 0, array.size() + (uint64_t{1} << 41), 8).bytes()),
      HasSubstr("more than deflated data of"));
  EXPECT_THAT(errorOfLoading("x.npy", array), HasSubstr("takes 2199023255552 bytes, and 0 follow"));
}

TEST_F(Damaged, WhatIsNoFile) {
  const auto error = [&](const std::string& path) { return errorOf([&] { load(path); }); };
  const std::string missing = folder.path("missing.npz");
  EXPECT_THAT(error(missing), AllOf(HasSubstr("'" + missing + "'"), HasSubstr("No such file")));
  EXPECT_THAT(errorOf([&] { load_metadata(missing); }), HasSubstr("load_metadata"));
  EXPECT_THAT(errorOf([&] { load_npy(missing); }), HasSubstr("load_npy"));
  std::filesystem::create_directory(folder.path("d.npz"));
  EXPECT_THAT(error(folder.path("d.npz")), testing::EndsWith("': is a directory: expected a regular file"));
  ASSERT_EQ(mkfifo(folder.path("p.npz").c_str(), 0600), 0);
  EXPECT_THAT(error(folder.path("p.npz")), HasSubstr("is a pipe"));
  std::filesystem::create_symlink("/dev/zero", folder.path("z.npz"));
  EXPECT_THAT(error(folder.path("z.npz")), HasSubstr("is a device"));
  std::filesystem::create_symlink("nowhere", folder.path("l.npz"));
  EXPECT_THAT(error(folder.path("l.npz")), HasSubstr("No such file"));
  EXPECT_THAT(error(std::string("/tmp/x\0.npz", 11)), HasSubstr("zero bytes"));
  save({}, folder.path("secret.npz"));
  ASSERT_EQ(chmod(folder.path("secret.npz").c_str(), 0), 0);
  if (geteuid() != 0) EXPECT_THAT(error(folder.path("secret.npz")), HasSubstr("Permission denied"));
}

TEST_F(Damaged, MessagesShowWhatCantBePrinted) {
  EXPECT_THAT(header("{\"\\u001b[31m\\u0007\":1}"), HasSubstr("tensor '\\x1b[31m\\x07'"));
  const std::string error = header("{\"" + std::string(100000, 'n') + "\":1}");
  EXPECT_THAT(error, HasSubstr("nnn...'"));
  EXPECT_LT(error.size(), 1000u);
}

}  // namespace
}  // namespace shunt
