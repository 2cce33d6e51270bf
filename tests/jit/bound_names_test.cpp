// A name that several libraries have means to a thunk what it means to the library whose kernel was inlined; and
// looking it up keeps no library loaded. Note [What a library is bound to] in jit/host/library_symbols.h.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <string>
#include <utility>

namespace {

using namespace shunt;
using testing::HasSubstr;

SHUNT_LIBRARY(bound, m) { m.def("scaled(Tensor self) -> Tensor"); }

class Loaded {
 public:
  Loaded(const char* path, int flags) : path_(path), handle_(dlopen(path, flags)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~Loaded() { close(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  void close() {
    if (handle_ != nullptr) dlclose(std::exchange(handle_, nullptr));
  }
  /// Also when it was closed.
  bool isLoaded() const {
    void* found = dlopen(path_, RTLD_LAZY | RTLD_NOLOAD);
    if (found != nullptr) dlclose(found);
    return found != nullptr;
  }

 private:
  const char* path_;
  void* handle_;
};

float scaledOne() {
  static const auto op = Dispatcher::singleton().findSchemaOrThrow("bound::scaled").typed<Tensor(const Tensor&)>();
  return op.call(ones({4}, TensorOptions(kFloat))).data_ptr<float>()[0];
}

float interpreted() {
  jit::set_enabled(false);
  const float result = scaledOne();
  jit::set_enabled(true);
  return result;
}

std::string plan() {
  for (const jit::PairStats& p : jit::stats().pairs)
    if (p.op == "bound::scaled") return p.plan;
  return "";
}

/// Compiled, interpreted and in a thunk.
void expectScales(float by) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(scaledOne(), by) << plan();
  EXPECT_EQ(interpreted(), by);
}

void expectInlined() {
  scaledOne();  // set_enabled has begun anew
  const uint64_t before = jit::calls_in_thunks();
  scaledOne();
  EXPECT_GT(jit::calls_in_thunks(), before);
  EXPECT_THAT(plan(), HasSubstr("inline lib"));
}

TEST(BoundNames, AFunctionOfALibraryThatItNeedsIsTheOneItWasBoundTo) {
  const Loaded kernels(KERNELS_NEED_FACTOR, RTLD_NOW | RTLD_LOCAL), later(FACTOR_1000, RTLD_NOW | RTLD_GLOBAL);
  expectScales(2);
}

TEST(BoundNames, ItsOwnPreemptibleFunctionIsTheOneItWasBoundTo) {
  const Loaded kernels(KERNELS_WITH_FACTOR, RTLD_NOW | RTLD_LOCAL), later(FACTOR_1000, RTLD_NOW | RTLD_GLOBAL);
  expectScales(2);
  expectInlined();
}

TEST(BoundNames, AFunctionThatPreemptsItsOwnIsTheOneItWasBoundTo) {
  const Loaded earlier(FACTOR_1000, RTLD_NOW | RTLD_GLOBAL), kernels(KERNELS_WITH_FACTOR, RTLD_NOW | RTLD_LOCAL);
  expectScales(1000);
  expectInlined();
}

TEST(BoundNames, WhatTheFirstCallBoundStays) {
  for (const char* path : {KERNELS_NEED_FACTOR, KERNELS_WITH_FACTOR}) {
    const Loaded kernels(path, RTLD_LAZY | RTLD_LOCAL);
    EXPECT_EQ(interpreted(), 2);
    const Loaded later(FACTOR_1000, RTLD_NOW | RTLD_GLOBAL);
    expectScales(2);
  }
}

TEST(BoundNames, LookingThemUpKeepsNoLibraryLoaded) {
  for (const char* path : {KERNELS_NEED_FACTOR, KERNELS_WITH_FACTOR, KERNELS_WITHOUT_BITCODE}) {
    Loaded kernels(path, RTLD_NOW | RTLD_GLOBAL);
    expectScales(2);
    if (path != std::string(KERNELS_WITHOUT_BITCODE)) expectInlined();
    kernels.close();
    EXPECT_FALSE(kernels.isLoaded()) << path;
    EXPECT_THROW(scaledOne(), Error);
  }
}

}  // namespace
