// load_library: a plug-in's registrations come with it, once, and its errors name it.
#include "tests/support/error_of.h"

#include <shunt/backend.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>

#include <fstream>

namespace shunt {
namespace {

using test::errorOf;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LoadLibrary, RegistersAndInitialisesOnce) {
  EXPECT_FALSE(Dispatcher::singleton().findSchema(OperatorName("device_plugin::initialised", "")));
  load_library(GOOD_PLUGIN);
  load_library(GOOD_PLUGIN);
  const auto op =
      Dispatcher::singleton().findSchemaOrThrow("device_plugin::initialised").typed<Tensor(const Tensor&)>();
  EXPECT_EQ(op.call(zeros({})).item<float>(), 1);
}

TEST(LoadLibrary, PassesOnWhatTheInitialiserThrowsAndTriesAgain) {
  EXPECT_THAT(errorOf([] { load_library(FAILING_PLUGIN); }), HasSubstr("no such hardware, attempt 1"));
  EXPECT_THAT(errorOf([] { load_library(FAILING_PLUGIN); }), HasSubstr("no such hardware, attempt 2"));
}

TEST(LoadLibrary, SaysWhyAFileIsNone) {
  EXPECT_THAT(errorOf([] { load_library(""); }), HasSubstr("path is empty"));
  EXPECT_THAT(errorOf([] { load_library("./no_such_backend.so"); }),
              AllOf(HasSubstr("load_library(\"./no_such_backend.so\")"), HasSubstr("No such file")));
  const std::string text = ::testing::TempDir() + "/no_library.so";
  std::ofstream(text) << "just text";
  EXPECT_THAT(errorOf([&] { load_library(text); }), AllOf(HasSubstr(text), HasSubstr("can't be loaded")));
}

}  // namespace
}  // namespace shunt
