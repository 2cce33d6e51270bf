// That a running program can load the library, as Python loads what a plug-in needs: what the library has in every
// thread comes out of a small reserve then.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include <dlfcn.h>

namespace {

TEST(Load, ByARunningProgram) {
  ASSERT_EQ(dlopen(SHUNT_LIBRARY_FILE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "the test is linked with the library";
  // A thread that was there before gets the library's variables too.
  void* library = nullptr;
  std::string error;
  std::thread([&] {
    library = dlopen(SHUNT_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) error = dlerror();
  }).join();
  EXPECT_NE(library, nullptr) << error;
}

}  // namespace
