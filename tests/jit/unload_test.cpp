// Libraries with kernels of their own: inlined while they are loaded, gone without a trace when they are not.
#include "src/dispatch/thunk.h"
#include "tests/jit/plugin/plugin.h"
#include "tests/support/run_command.h"
#include "tests/support/same_bits.h"

#include <shunt/jit/jit.h>
#include <shunt/jit/kernel_library.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace {

using namespace shunt;
using testing::HasSubstr;

SHUNT_LIBRARY(own, m) {
  m.def("scale(Tensor self) -> Tensor");
  m.def("wait(Tensor self) -> Tensor");
  m.def("drain(Tensor self) -> Tensor");
}

Tensor call(const char* name, const Tensor& x) {
  return Dispatcher::singleton().findSchemaOrThrow(name).typed<Tensor(const Tensor&)>().call(x);
}

/// Memory that a file is mapped to.
bool isMapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(path) != std::string::npos) return true;
  return false;
}

class Plugin {
 public:
  explicit Plugin(const char* path) : path_(path), handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    get<void()>("plugin_load")();
  }
  ~Plugin() { close(); }
  void close() {
    if (handle_ != nullptr) dlclose(std::exchange(handle_, nullptr));
  }
  template <class F>
  F* get(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }
  bool mapped() const { return isMapped(path_); }

 private:
  std::string path_;
  void* handle_;
};

size_t thunksOf(const char* op) {
  size_t found = 0;
  for (const auto& t : jit::publishedThunks()) found += t->op->name() == op;
  return found;
}

jit::PairStats pairOf(const char* op) {
  for (const jit::PairStats& p : jit::stats().pairs)
    if (p.op == op) return p;
  return {};
}

/// Of all its pairs: those of other tests may have more calls.
std::string reasonsOf(const char* op) {
  std::string out;
  for (const jit::PairStats& p : jit::stats().pairs)
    if (p.op == op) out += p.reason + '\n';
  return out;
}

float at(const Tensor& t, int64_t i) { return t.data_ptr<float>()[i]; }

/// The result in a thunk, which must have run its loop, after it was compared with the interpreter's.
Tensor scaledInThunk(const Tensor& x) {
  jit::set_enabled(false);
  const Tensor expected = call("own::scale", x);
  jit::set_enabled(true);
  call("own::scale", x);
  const uint64_t before = jit::calls_in_thunks(), misses = pairOf("own::scale").guard_misses;
  Tensor out = call("own::scale", x);
  EXPECT_EQ(jit::calls_in_thunks(), before + 1) << jit::statsTable() << pairOf("own::scale").plan;
  EXPECT_EQ(pairOf("own::scale").guard_misses, misses) << "the interpreter's loop ran, not the thunk's";
  EXPECT_TRUE(test::sameBits(expected, out));
  return out;
}

TEST(Unload, WhatWasInlinedGoesWithTheLibrary) {
  Plugin plugin(PLUGIN_3);
  ASSERT_EQ(jit::kernel_libraries().size(), 1u);
  const std::weak_ptr<const jit::LoadedLibrary> lease = jit::kernel_libraries().front();
  const std::weak_ptr<const std::string> bitcode = lease.lock()->bitcode;
  const Tensor x = arange(100, kFloat);
  EXPECT_EQ(at(scaledInThunk(x), 7), 22.f);
  EXPECT_THAT(pairOf("own::scale").plan, HasSubstr("inline lib"));
  EXPECT_EQ(thunksOf("own::scale"), 1u);
  const size_t logged = jit::invalidation_log().size();

  plugin.close();
  EXPECT_FALSE(plugin.mapped());
  EXPECT_EQ(thunksOf("own::scale"), 0u);
  EXPECT_TRUE(lease.expired() && bitcode.expired()) << "somebody keeps its bitcode";
  const auto log = jit::invalidation_log();
  ASSERT_EQ(log.size(), logged + 1);
  EXPECT_THAT(log.back().what, HasSubstr("own::scale"));
  EXPECT_THAT(log.back().cause, HasSubstr("own::scale: CPU changed to"));
  EXPECT_THROW(call("own::scale", x), Error);
}

TEST(Unload, ALaterLibraryAtTheSameAddressIsItself) {
  const Tensor x = arange(64, kFloat);
  int same = 0;
  for (int round = 0; round < 6; ++round) {
    Plugin first(round % 2 == 0 ? PLUGIN_3 : PLUGIN_5);
    const uint64_t where = jit::kernel_libraries().back()->bias;
    EXPECT_EQ(at(scaledInThunk(x), 5), round % 2 == 0 ? 16.f : 26.f);
    first.close();
    ASSERT_FALSE(first.mapped());
    Plugin second(round % 2 == 0 ? PLUGIN_5 : PLUGIN_3);
    same += jit::kernel_libraries().back()->bias == where;
    EXPECT_EQ(at(scaledInThunk(x), 5), round % 2 == 0 ? 26.f : 16.f);
  }
  EXPECT_GT(same, 0) << "no two libraries came to lie at one address, so the test has tested nothing";
}

TEST(Unload, FunctionsOfOneNameInTwoLibrariesStayApart) {
  const Tensor x = arange(64, kFloat);
  Plugin three(PLUGIN_3);
  EXPECT_EQ(at(scaledInThunk(x), 5), 16.f);
  {
    Plugin five(PLUGIN_5);  // registered later: in force
    EXPECT_EQ(jit::kernel_libraries().size(), 2u);
    EXPECT_EQ(at(scaledInThunk(x), 5), 26.f);
    EXPECT_THAT(jit::invalidation_log().back().what, HasSubstr("own::scale"));
  }
  EXPECT_EQ(at(scaledInThunk(x), 5), 16.f);
}

TEST(Unload, DrainWaitsForCallsOfOtherThreads) {
  Plugin plugin(PLUGIN_5);
  const Tensor x = arange(8, kFloat);
  std::thread inside([&] { EXPECT_EQ(at(call("own::wait", x), 1), 6.f); });
  while (plugin.get<int()>("plugin_inside")() == 0) std::this_thread::yield();
  std::atomic<bool> drained{false};
  std::thread draining([&] {
    plugin.get<void()>("plugin_drain")();
    drained = true;
  });
  // New calls meet no kernel at once, and the old one is waited for.
  while (true) {
    try {
      call("own::scale", x);
    } catch (const Error&) {
      break;
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(drained);
  plugin.get<void()>("plugin_open_gate")();
  draining.join();
  EXPECT_TRUE(drained);
  plugin.close();
  EXPECT_FALSE(plugin.mapped());
  inside.join();  // it has left the library, if perhaps not its thread
}

TEST(Unload, DrainInsideACallIsAnErrorAndChangesNothing) {
  Plugin plugin(PLUGIN_3);
  const Tensor x = arange(8, kFloat);
  for (int i = 0; i < 3; ++i) {
    try {
      call("own::drain", x);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("Library::drain: this thread is inside a call"));
    }
    EXPECT_EQ(at(call("own::scale", x), 1), 4.f);
  }
}

/// A copy of a library, for as long as this lives.
class Copy {
 public:
  // A name of this process's: the program is two tests, which may run at once.
  Copy(const char* of, const char* name) : path_(testing::TempDir() + std::to_string(getpid()) + '_' + name) {
    std::filesystem::copy_file(of, path_, std::filesystem::copy_options::overwrite_existing);
  }
  ~Copy() { std::filesystem::remove(path_); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// Right, and not inlined.
void expectCalled(const Plugin&) {
  jit::clear();  // each thunk that earlier tests lost doubles the calls before the next compile
  const Tensor x = arange(64, kFloat);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(at(call("own::scale", x), 5), 16.f);
  EXPECT_EQ(thunksOf("own::scale"), 0u);
  EXPECT_THAT(reasonsOf("own::scale"), HasSubstr("its library has no bitcode"));
}

TEST(Unload, KernelsOfAStrippedLibraryAreCalled) {
  const Copy copy(PLUGIN_3, "stripped_plugin.so");
  ASSERT_EQ(shunt::test::runCommand(std::string("strip ") + copy.path()).status, 0);
  expectCalled(Plugin(copy.path()));
}

TEST(Unload, AFileThatIsNotTheOneInMemoryIsNotRead) {
  const Copy copy(PLUGIN_3, "replaced_plugin.so"), other(PLUGIN_5, "other_plugin.so");
  const Plugin plugin(copy.path());
  std::filesystem::remove(copy.path());  // an other file under the same name, as an installer leaves
  std::filesystem::copy_file(other.path(), copy.path());
  expectCalled(plugin);
}

// As one with the same code and other constants has.
TEST(Unload, AFileWithAnotherBuildIdIsNotRead) {
  const Copy copy(PLUGIN_3, "rebuilt_plugin.so"), other(PLUGIN_3, "other_id_plugin.so");
  std::stringstream file;
  file << std::ifstream(other.path(), std::ios::binary).rdbuf();
  std::string bytes = file.str();
  const std::string note("\x03\0\0\0GNU\0", 8);  // NT_GNU_BUILD_ID; the id follows
  const size_t at = bytes.find(note);
  ASSERT_NE(at, std::string::npos);
  bytes[at + note.size()] ^= 1;
  const Plugin plugin(copy.path());
  std::filesystem::remove(copy.path());
  std::ofstream(copy.path(), std::ios::binary) << bytes;
  expectCalled(plugin);
}

TEST(Unload, ACompileInFlightIsDroppedOrInForce) {
  const Tensor x = arange(64, kFloat);
  std::atomic<bool> stop{false};
  std::thread compiling([&] {  // other pairs, so that compiles go on all the time
    const Tensor y = arange(16, kFloat);
    while (!stop) {
      y.mul(y);
      y.add(1).sum();
      jit::clear();
    }
  });
  for (int round = 0; round < 30; ++round) {
    Plugin plugin(round % 2 == 0 ? PLUGIN_3 : PLUGIN_5);
    for (int i = 0; i < 4; ++i) ASSERT_EQ(at(call("own::scale", x), 5), round % 2 == 0 ? 16.f : 26.f);
    plugin.close();
    ASSERT_FALSE(plugin.mapped());
  }
  stop = true;
  compiling.join();
}

}  // namespace
