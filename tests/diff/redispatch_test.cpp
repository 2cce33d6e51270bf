// Kernels that redispatch to keys outside of their call's: what they lead to is an edge as well. Note [Edges of folded
// entries] (jit/emit/redispatches.h).
#include "tests/diff/redispatch_plugin.h"
#include "tests/diff/thunks.h"
#include "tests/support/error_of.h"

#include <shunt/jit/cache.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

namespace diff {
namespace {

using namespace shunt;
using testing::ElementsAre;
using testing::HasSubstr;

template <int N>
Tensor answer(const Tensor& x) {
  return shunt::full_like(x, N);
}

Library at(DispatchKey key, const char* op, Tensor (*kernel)(const Tensor&)) {
  Library m(Library::Kind::kImpl, "aten", key);
  m.impl(op, kernel);
  return m;
}

float first(const Tensor& t) { return t.data_ptr<float>()[0]; }

class Redispatches : public testing::Test {
 protected:
  void SetUp() override {
    jit::clear();
    redispatching::addKernels(top);
    redispatching::addComposite(composite);
  }
  void TearDown() override { jit::clear(); }

  Tensor relu() { return plain.relu(); }
  Tensor twice() {
    return Dispatcher::singleton()
        .findSchemaOrThrow("redispatching::relu_twice")
        .typed<Tensor(const Tensor&)>()
        .call(plain);
  }

  /// Calls until the result comes from a thunk: a pair that was invalidated k times is compiled after 2^k calls.
  void expectHot(const std::function<Tensor()>& call, float expected) {
    for (int i = 0; i < 40; ++i) ASSERT_EQ(first(call()), expected) << "call " << i;
    const uint64_t before = jit::calls_in_thunks();
    EXPECT_EQ(first(call()), expected);
    EXPECT_GT(jit::calls_in_thunks(), before) << jit::statsTable();
  }
  /// The causes that the log has for an operator since then.
  static std::vector<std::string> causes(size_t logged, const std::string& op) {
    std::vector<std::string> out;
    for (const auto& r : logSince(logged))
      if (r.what.starts_with(op + " ")) out.push_back(r.cause);
    return out;
  }

  Library top{Library::Kind::kImpl, "aten", DispatchKey::CPU};
  Library composite{Library::Kind::kFragment, "redispatching"};
  Tensor plain = ones({16}), leaf = ones({16}).requires_grad_();
};

TEST_F(Redispatches, AReplacedKernelIsInForceAtOnceAndItsReplacementToo) {
  Library one = at(DispatchKey::SparseCPU, "relu", &answer<111>);
  expectHot([&] { return relu(); }, 111);
  const size_t logged = jit::invalidation_log().size();
  {
    Library two = at(DispatchKey::SparseCPU, "relu", &answer<222>);
    EXPECT_THAT(causes(logged, "aten::relu"), ElementsAre(HasSubstr("aten::relu: SparseCPU changed to kernel")));
    expectHot([&] { return relu(); }, 222);
  }
  expectHot([&] { return relu(); }, 111);
}

TEST_F(Redispatches, OfAnAutogradChainToo) {
  Library one = at(DispatchKey::SparseCPU, "relu", &answer<111>);
  expectHot([&] { return leaf.relu(); }, 111);
  Library two = at(DispatchKey::SparseCPU, "relu", &answer<222>);
  expectHot([&] { return leaf.relu(); }, 222);
  EXPECT_TRUE(leaf.relu().requires_grad());
}

TEST_F(Redispatches, AWithdrawnKernelIsAnErrorAtOnce) {
  std::optional<Library> one(at(DispatchKey::SparseCPU, "relu", &answer<111>));
  expectHot([&] { return relu(); }, 111);
  one.reset();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(relu(), Error) << i;
}

TEST_F(Redispatches, AKernelOfALibraryThatIsUnloadedIsNotCalledAgain) {
  void* target = dlopen(REDISPATCH_TARGET, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(target, nullptr) << dlerror();
  expectHot([&] { return relu(); }, 333);
  expectHot([&] { return twice(); }, 333);
  dlclose(target);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ASSERT_EQ(line.find(REDISPATCH_TARGET), std::string::npos);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(relu(), Error);
    EXPECT_THROW(twice(), Error);
  }
}

// Where the keyset leads depends on the keys that fall through as well.
TEST_F(Redispatches, AKeyThatFellThroughIsRelied) {
  Library through(Library::Kind::kImpl, "aten", DispatchKey::Tracer);
  through.impl("neg", CppFunction::makeFallthrough());
  Library sparse = at(DispatchKey::SparseCPU, "neg", &answer<5>);
  const auto neg = [&] { return plain.neg(); };
  expectHot(neg, 5);
  const size_t logged = jit::invalidation_log().size();
  {
    Library tracer = at(DispatchKey::Tracer, "neg", &answer<6>);
    EXPECT_THAT(causes(logged, "aten::neg"), ElementsAre(HasSubstr("aten::neg: Tracer changed to kernel")));
    expectHot(neg, 6);
    Library other = at(DispatchKey::SparseCPU, "neg", &answer<7>);
    expectHot(neg, 6);
  }
  expectHot(neg, 5);
}

TEST_F(Redispatches, OfAnOperatorThatIsInlinedToo) {
  std::optional<Library> one(at(DispatchKey::SparseCPU, "relu", &answer<111>));
  expectHot([&] { return twice(); }, 111);
  bool inlined = false;
  for (const auto& t : jit::publishedThunks())
    for (const jit::Edge& e : t->edges)
      inlined |= nameOf(*t->op) == "redispatching::relu_twice" && e.op != nullptr && nameOf(*e.op) == "aten::relu" &&
                 e.slot == slotOf(DispatchKey::SparseCPU);
  EXPECT_TRUE(inlined) << jit::statsTable();
  const size_t logged = jit::invalidation_log().size();
  Library two = at(DispatchKey::SparseCPU, "relu", &answer<222>);
  EXPECT_THAT(causes(logged, "redispatching::relu_twice"), ElementsAre(HasSubstr("aten::relu: SparseCPU changed to")));
  expectHot([&] { return twice(); }, 222);
}

// Outside of the inlined call, in another one that is under way, the table of now counts.
TEST_F(Redispatches, OfAnotherOperatorSeeWhatChangedMeanwhile) {
  static std::function<void()> inside;
  Library acting(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  acting.impl("abs", [](const Tensor& x) {
    if (auto act = std::exchange(inside, nullptr)) act();
    return x;
  });
  Library one = at(DispatchKey::SparseCPU, "relu", &answer<111>);
  const auto around = [&] {
    return Dispatcher::singleton()
        .findSchemaOrThrow("redispatching::relu_around")
        .typed<Tensor(const Tensor&)>()
        .call(plain);
  };
  expectHot(around, 111);
  std::optional<Library> two;
  inside = [&] { two.emplace(at(DispatchKey::SparseCPU, "relu", &answer<222>)); };
  const uint64_t before = jit::calls_in_thunks();
  EXPECT_EQ(first(around()), 222);
  EXPECT_GT(jit::calls_in_thunks(), before) << "the change was not made inside a thunk";
}

TEST_F(Redispatches, OtherSlotsAreNotReliedOn) {
  Library one = at(DispatchKey::SparseCPU, "relu", &answer<111>);
  expectHot([&] { return relu(); }, 111);
  const Published before = published();
  Library other = at(DispatchKey::SparseCsrCPU, "relu", &answer<222>);
  EXPECT_THAT(gone(before), testing::IsEmpty());
}

// The disk cache: what a thunk relies on is stored with it, and read from the call that was recorded.
TEST(RedispatchesInTheCache, LoadedThunksHaveTheEdgesOfCompiledOnes) {
  std::string folder = (std::filesystem::temp_directory_path() / "shunt_edges_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  jit::set_cache_directory(folder);
  const Tensor ints = arange(16, kLong), floats = arange(16, kFloat), leaf = arange(16, kFloat).requires_grad_();
  const Tensor square = ones({4, 4});
  using Edges = std::map<ThunkName, std::set<std::tuple<const Operator*, int, uint64_t>>>;
  const auto edges = [&] {
    jit::clear();
    for (int i = 0; i < 2; ++i) {
      ints.sqrt();
      ints.div(ints);
      floats.add(floats);
      leaf.mul(floats).relu();
      shunt::linear(square, square);
    }
    Edges out;
    for (const auto& t : jit::publishedThunks())
      for (const jit::Edge& e : t->edges) out[nameOf(*t)].insert({e.op, e.slot, e.version});
    return out;
  };
  const Edges compiled = edges();
  const uint64_t loaded = jit::stats().loaded;
  const Edges again = edges();
  EXPECT_GT(jit::stats().loaded, loaded + 4) << jit::statsTable();
  EXPECT_EQ(again, compiled);
  bool inlines = false, setting = false;
  for (const auto& [name, all] : again)
    for (const auto& [op, slot, version] : all) {
      inlines |= op != nullptr && nameOf(*op) != name.op;
      setting |= op == nullptr;
    }
  EXPECT_TRUE(inlines && setting);
  jit::set_cache_directory("");
  std::filesystem::remove_all(folder);
  jit::clear();
}

}  // namespace
}  // namespace diff
