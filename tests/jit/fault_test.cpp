// A system that refuses what the compiler needs: calls go on, interpreted, with equal bits, and it is said once.
#include "tests/support/run_command.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <elf.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What the probe printed: its results are the interpreter's, whatever failed.
std::string probe(const std::string& variables, const std::string& limits = "", int rounds = 4) {
  const std::string command =
      limits + "env -u SHUNT_JIT -u SHUNT_JIT_SYNC OPENBLAS_NUM_THREADS=1 SHUNT_NUM_THREADS=1 SHUNT_JIT_THRESHOLD=2 " +
      variables + " " SHUNT_CACHE_PROBE " " + std::to_string(rounds) + " 2>&1";
  const auto ran = shunt::test::runCommand(command);
  EXPECT_EQ(ran.status, 0) << command << '\n' << ran.text;
  EXPECT_THAT(ran.text, HasSubstr("good=1 ")) << command;
  return ran.text;
}

int occurrences(const std::string& text, const std::string& of) {
  int n = 0;
  for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + of.size())) ++n;
  return n;
}

std::string preloaded(const std::string& fault) { return "LD_PRELOAD=" SHUNT_FAULTS " SHUNT_FAULT=" + fault; }

TEST(Faults, NoneOfThemIsThereByDefault) {
  EXPECT_THAT(probe(preloaded("none")),
              AllOf(HasSubstr("available=1 thunks=1"), HasSubstr("failed=0"), Not(HasSubstr("warning"))));
}

TEST(Faults, NoThread) {
  const std::string text = probe(preloaded("thread"));
  EXPECT_THAT(text, AllOf(HasSubstr("available=0 thunks=0 compiled=0")));
  EXPECT_EQ(occurrences(text, "the JIT is off: its thread can't start"), 1) << text;
}

TEST(Faults, NoMemoryForCode) {
  const std::string text = probe(preloaded("memfd"));
  EXPECT_THAT(text, AllOf(HasSubstr("available=1 thunks=0 compiled=0"), Not(HasSubstr("failed=0"))));
  EXPECT_EQ(occurrences(text, "no memory for compiled code: memfd_create"), 1) << text;
}

// The caller compiles there: what fails must not reach it either.
TEST(Faults, NoMemoryForCodeInTheCaller) {
  const std::string text = probe(preloaded("memfd") + " SHUNT_JIT_SYNC=1");
  EXPECT_THAT(text, HasSubstr("thunks=0 compiled=0"));
  EXPECT_EQ(occurrences(text, "no memory for compiled code: memfd_create"), 1) << text;
}

TEST(Faults, OutOfCodeMemory) {
  for (const char* bytes : {"0", "64", "4000"}) {
    const std::string text = probe(std::string("SHUNT_JIT_MAX_CODE=") + bytes);
    EXPECT_THAT(text, Not(HasSubstr("failed=0"))) << text;
    EXPECT_EQ(occurrences(text, "SHUNT_JIT_MAX_CODE"), 1) << text;
  }
}

// The limit counts for files in memory too, and its signal would end the program.
TEST(Faults, NoFileMayBeLarge) {
  const std::string text = probe("", "ulimit -f 64; ");
  EXPECT_THAT(text, AllOf(HasSubstr("thunks=0 compiled=0"), Not(HasSubstr("failed=0"))));
  EXPECT_EQ(occurrences(text, "no memory for compiled code: ftruncate: File too large"), 1) << text;
}

// An error that LLVM takes for the end of the process, at some moment of every compile.
TEST(Faults, LlvmWithoutMemory) {
  for (const char* sync : {"", " SHUNT_JIT_SYNC=1"}) {
    const std::string text = probe(preloaded("llvm") + sync);
    EXPECT_THAT(text, HasSubstr("available=1 thunks=0 compiled=0"));
    EXPECT_EQ(occurrences(text, "it stays interpreted: LLVM: Allocation failed"), 1) << text;
  }
}

/// A program with a library whose kernels are inlined, in which LLVM's maps get no memory from then on.
std::string withoutTables(const std::string& from, const char* sync) {
  const auto ran = shunt::test::runCommand(
      "env -u SHUNT_JIT OPENBLAS_NUM_THREADS=1 SHUNT_JIT_THRESHOLD=2 SHUNT_JIT_SYNC=" + std::string(sync) + " " +
      preloaded("none") + " " SHUNT_LIBRARY_FAULT_PROBE " " SHUNT_FAULT_PLUGIN " " + from + " 2>&1");
  EXPECT_EQ(ran.status, 0) << ran.text;
  return ran.text;
}

// A jump out of LLVM must not keep the lock under which a library's bitcode is read: it couldn't be unloaded any more.
TEST(Faults, LlvmWithoutMemoryForALibrarysTables) {
  for (const char* sync : {"0", "1"}) {
    const std::string text = withoutTables("compiled", sync);
    EXPECT_THAT(text, HasSubstr("good=1 libraries=1 then=0 thunks=1")) << text;
    EXPECT_EQ(occurrences(text, "are called, not inlined: LLVM: Allocation failed"), 1) << text;
  }
}

// Nor leave libshunt's own half read for the compiles to come.
TEST(Faults, LlvmWithoutMemoryForAnyTables) {
  for (const char* sync : {"0", "1"}) {
    const std::string text = withoutTables("loaded", sync);
    EXPECT_THAT(text, HasSubstr("good=1 libraries=1 then=0 thunks=0")) << text;
    EXPECT_EQ(occurrences(text, "nothing is compiled: LLVM: Allocation failed"), 1) << text;
  }
  EXPECT_THAT(withoutTables("never", "1"), HasSubstr("good=1 libraries=1 then=0 thunks=1"));
}

// What the disk cache has is not to blame, and stays there.
TEST(Faults, OutOfCodeMemoryWithACache) {
  const shunt::test::TemporaryFolder folder("faults");
  const std::string cache = "SHUNT_JIT_CACHE=" + folder.path().string() + " SHUNT_JIT_SYNC=1 ";
  probe(cache);
  const auto count = [&] { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()); };
  const auto before = count();
  EXPECT_GT(before, 20);
  EXPECT_THAT(probe(cache + "SHUNT_JIT_MAX_CODE=0"), HasSubstr("thunks=0 compiled=0 loaded=0"));
  EXPECT_EQ(count(), before);
  EXPECT_THAT(probe(cache), HasSubstr("compiled=0"));
}

TEST(Faults, NoProc) {
  EXPECT_THAT(probe(preloaded("proc")), AllOf(HasSubstr("available=1 thunks=1"), HasSubstr("failed=0")));
  EXPECT_THAT(probe(preloaded("proc") + " SHUNT_JIT_PERF=1 SHUNT_JIT_GDB=1"), HasSubstr("available=1 thunks=1"));
}

/// libshunt and its compiler in a folder of their own, so that they can be changed.
struct Copies {
  Copies() {
    fs::copy_file(SHUNT_LIBRARY_FILE, folder.path() / SHUNT_SONAME);
    fs::copy_file(SHUNT_JIT_LIBRARY, folder.path() / SHUNT_JIT_SONAME);
  }
  std::string variables() const { return "LD_LIBRARY_PATH=" + folder.path().string(); }

  /// Overwrites the section from a part of it on.
  void damage(const std::string& section, double from, size_t bytes) {
    const fs::path file = folder.path() / SHUNT_SONAME;
    std::string content(fs::file_size(file), '\0');
    std::ifstream(file).read(content.data(), static_cast<std::streamsize>(content.size()));
    Elf64_Ehdr header;
    std::memcpy(&header, content.data(), sizeof header);
    const auto sectionAt = [&](size_t i) {
      Elf64_Shdr s;
      std::memcpy(&s, content.data() + header.e_shoff + i * sizeof s, sizeof s);
      return s;
    };
    const Elf64_Shdr names = sectionAt(header.e_shstrndx);
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr s = sectionAt(i);
      if (section != content.data() + names.sh_offset + s.sh_name) continue;
      const auto at = s.sh_offset + static_cast<size_t>(from * static_cast<double>(s.sh_size));
      content.replace(at, bytes, bytes, '\x5a');
      std::ofstream(file, std::ios::trunc).write(content.data(), static_cast<std::streamsize>(content.size()));
      return;
    }
    ADD_FAILURE() << "no section " << section;
  }

  shunt::test::TemporaryFolder folder{"faults"};
};

TEST(Faults, CopiesWorkAsTheyAre) {
  const Copies copies;
  EXPECT_THAT(probe(copies.variables()), AllOf(HasSubstr("available=1 thunks=1"), HasSubstr("failed=0")));
}

TEST(Faults, UnreadableBitcode) {
  Copies copies;
  copies.damage("shunt_bc", 0, 64);
  const std::string text = probe(copies.variables());
  EXPECT_THAT(text, HasSubstr("available=1 thunks=0 compiled=0"));
  EXPECT_EQ(occurrences(text, "libshunt's bitcode can't be read"), 1) << text;
}

TEST(Faults, NoCompiler) {
  const Copies copies;
  fs::remove(copies.folder.path() / SHUNT_JIT_SONAME);
  const std::string text = probe(copies.variables());
  EXPECT_THAT(text, HasSubstr("available=0 thunks=0 compiled=0"));
  EXPECT_EQ(occurrences(text, "the JIT is not available"), 1) << text;
}

}  // namespace
