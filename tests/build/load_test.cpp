// That a running program can load the library, as Python loads what a plug-in needs: what the library has in every
// thread comes out of a small reserve then.
#include <gtest/gtest.h>

#include <dlfcn.h>

namespace {

TEST(Load, ByARunningProgram) {
  ASSERT_EQ(dlopen(SHUNT_LIBRARY_FILE, RTLD_NOW | RTLD_NOLOAD), nullptr) << "the test is linked with the library";
  EXPECT_NE(dlopen(SHUNT_LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
}

}  // namespace
