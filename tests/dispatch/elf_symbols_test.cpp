// ElfSymbols: names of static functions in files that are whole, cut off, or for another machine.
#include "src/base/elf_symbols.h"
#include "tests/support/temporary_folder.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <fstream>
#include <iterator>
#include <string>

namespace shunt {
namespace {

using detail::ElfSymbols;
using testing::HasSubstr;

[[gnu::noinline]] int functionOfThisTest(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

/// Where functionOfThisTest is in this program's file.
uint64_t place() {
  Dl_info info;
  link_map* object = nullptr;
  auto* const function = reinterpret_cast<void*>(&functionOfThisTest);
  EXPECT_NE(dladdr1(function, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP), 0);
  return reinterpret_cast<uintptr_t>(function) - object->l_addr;
}

class ElfFiles : public testing::Test {
 protected:
  std::string nameIn(const std::string& bytes) const {
    const std::string path = (folder_.path() / "program").string();
    std::ofstream(path, std::ios::binary) << bytes;
    return ElfSymbols(path).nameAt(place());
  }

  const std::string whole_ = [] {
    std::ifstream in("/proc/self/exe", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();

 private:
  const test::TemporaryFolder folder_{"elf"};
};

TEST_F(ElfFiles, NameStaticFunctions) {
  EXPECT_THAT(ElfSymbols("/proc/self/exe").nameAt(place()), HasSubstr("functionOfThisTest"));
  EXPECT_THAT(nameIn(whole_), HasSubstr("functionOfThisTest"));
}

TEST_F(ElfFiles, ThatAreCutOffOrDamagedHaveNoNames) {
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(nameIn(whole_.substr(0, whole_.size() / 16 * i)), "") << i;
  std::string damaged = whole_;
  damaged[offsetof(Elf64_Ehdr, e_shoff) + 5] = '\x7f';  // the sections far beyond the end
  EXPECT_EQ(nameIn(damaged), "");
  EXPECT_EQ(nameIn("no program"), "");
  EXPECT_EQ(ElfSymbols("/no/such/file").nameAt(place()), "");
}

TEST_F(ElfFiles, OfAnotherMachineHaveNoNames) {
  std::string foreign = whole_;
  foreign[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_AARCH64);
  EXPECT_EQ(nameIn(foreign), "");
}

}  // namespace
}  // namespace shunt
