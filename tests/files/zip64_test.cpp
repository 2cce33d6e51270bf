// Archives of more than 4 GiB, whose numbers stand in zip64 records: a file with holes in the place of the data.
#include "src/files/zip_directory.h"
#include "src/files/zip_writer.h"
#include "tests/files/samples.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

namespace shunt {
namespace {

using namespace test;

TEST(Zip64, SizesAndPlacesBeyond4GiBAreWrittenAndRead) {
  constexpr uint64_t kSizes[] = {uint64_t{5} << 30, 3, 0xffffffff, 0xfffffffe, 7};
  const FileFolder folder;
  const std::string path = folder.write("large.npz", "");
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  std::string directory;
  std::vector<uint64_t> begins;
  uint64_t at = 0;
  for (size_t i = 0; i < std::size(kSizes); ++i) {
    const auto headers = files::zipHeaders("entry" + std::to_string(i), 1234, kSizes[i], at);
    out.seekp(static_cast<std::streamoff>(at));
    out << headers.local;
    directory += headers.central;
    begins.push_back(at + headers.local.size());
    at = begins.back() + kSizes[i];
  }
  out.seekp(static_cast<std::streamoff>(at));
  out << directory << files::zipEnd(std::size(kSizes), directory.size(), at);
  out.close();
  ASSERT_TRUE(out) << "no room for a file with holes";

  const detail::InputFile file({"load", path});
  std::vector<files::ZipEntry> entries;
  EXPECT_EQ(errorOf([&] { entries = files::readZipDirectory(file); }), "no error");
  ASSERT_EQ(entries.size(), std::size(kSizes));
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].name, "entry" + std::to_string(i));
    EXPECT_EQ(entries[i].size, kSizes[i]);
    EXPECT_EQ(entries[i].at, begins[i]);
    EXPECT_EQ(entries[i].crc, 1234u);
  }
}

}  // namespace
}  // namespace shunt
