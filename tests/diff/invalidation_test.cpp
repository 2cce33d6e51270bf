// What every kind of change makes invalid, what it leaves alone, and what the log says: one row a change. And that
// modes, which are no changes, come and go without a compile.
#include "tests/diff/thunks.h"
#include "tests/support/same_bits.h"

#include <shunt/transforms/fake_tensor.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

namespace diff {
namespace {

using namespace shunt;

Tensor numbers(int64_t n = 16) { return shunt::arange(n, TensorOptions(kFloat)); }

constexpr float kMark = 77;
Tensor marked(const Tensor& like) { return shunt::full_like(like, kMark); }
Tensor markedBinary(const Tensor& a, const Tensor&) { return marked(a); }
Tensor markedAdd(const Tensor& a, const Tensor&, const Scalar&) { return marked(a); }
Tensor markedLinear(const Tensor& a, const Tensor&, const std::optional<Tensor>&) { return marked(a); }
bool isMarked(const Tensor& t) { return static_cast<const float*>(t.data_ptr())[1] == kMark; }

struct Operands {
  Tensor plain = numbers(), square = numbers().reshape({4, 4}).clone();
  Tensor leaf = numbers().requires_grad_(), leaf_square = numbers().reshape({4, 4}).clone().requires_grad_();
};

/// What relu's kernel does once, in the thunk that calls it.
std::function<void()> inside_relu;
Tensor actingRelu(const Tensor& a) {
  if (auto action = std::exchange(inside_relu, nullptr)) action();
  return a.add(1);
}

std::shared_ptr<Library> makeBlock(const char* ns, DispatchKey key, const std::function<void(Library&)>& fill) {
  auto block = std::make_shared<Library>(Library::Kind::kImpl, ns, key);
  fill(*block);
  return block;
}

/// A boxed fallback that thunks rely on, below their inlined autograd wrappers, of a key that nothing else uses.
std::shared_ptr<Library> spareFallback() {
  return makeBlock("_", DispatchKey::CustomRNGKeyId, [](Library& m) {
    m.fallback(CppFunction::makeFromBoxed([](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
      op.redispatchBoxed(ks & DispatchKeySet::fullAfter(DispatchKey::CustomRNGKeyId), stack);
    }));
  });
}
std::shared_ptr<Library> spare_fallback;

Tensor mulUnderSpare(const Operands& x) {
  IncludeDispatchKeyGuard guard(DispatchKey::CustomRNGKeyId);
  return x.leaf.mul(x.leaf);
}

/// Calls every pair that the rows speak of, often enough that all are compiled.
void warm(const Operands& x) {
  for (int i = 0; i < 2; ++i) {
    x.plain.add(x.plain);
    x.leaf.add(x.plain);
    x.plain.mul(x.plain);
    x.leaf.mul(x.leaf);
    x.plain.sum();
    x.leaf.relu();
    x.square.mm(x.square);
    x.leaf_square.mm(x.square);
    shunt::linear(x.square, x.square);
    shunt::linear(x.leaf_square, x.square);
    if (spare_fallback != nullptr) mulUnderSpare(x);
    {
      NoGradGuard guard;
      x.leaf.mul(x.leaf);
    }
    AutocastGuard autocast(kCPU);
    x.square.mm(x.square);
  }
}

/// Thunks of these operators (none given: of all) whose keys have this one ("": whatever they are); and of these
/// composite ones where they have inlined the row's operator.
struct Which {
  std::vector<std::string> ops;
  std::string key;
  std::vector<std::string> composites = {};
};
const Which kNone{{"-"}, ""};
bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

/// One change of registrations, and taking it back.
struct Row {
  const char* what;
  std::function<std::shared_ptr<void>()> make;  // the change lasts as long as what it returns
  std::string slot;  // whose entry changes; of each thunk's own operator unless `op` names one
  std::string op;
  Which invalid;        // when it is made...
  std::string becomes;  // ...by what the entry is then
  Which invalid_after;  // of the thunks there are meanwhile, when it is taken back...
  std::string becomes_after;
  /// Whether a call now gives the changed kernel's result; null where calls don't see the change.
  std::function<bool(const Operands&)> in_force;
};

void PrintTo(const Row& r, std::ostream* out) { *out << r.what; }

auto block(const char* ns, DispatchKey key, std::function<void(Library&)> fill) {
  return [=]() -> std::shared_ptr<void> { return makeBlock(ns, key, fill); };
}

/// Closed when the last copy goes.
std::shared_ptr<void> loadPlugin() {
  void* handle = dlopen(DIFF_OVERRIDE_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return std::shared_ptr<void>(handle, [](void* h) { dlclose(h); });
}

template <class Guard>
bool markedUnder(const Guard&, const Operands& x) {
  try {
    return isMarked(x.plain.mul(x.plain));
  } catch (const Error&) {
    return false;  // nobody knows what to do with the key
  }
}

const std::vector<Row>& rows() {
  static const std::string mul = "aten::mul.Tensor";
  static const std::vector<Row> all = {
      {"override of a backend kernel",
       block("aten", DispatchKey::CPU, [](Library& m) { m.impl("mul.Tensor", &markedBinary); }),
       "CPU",
       "",
       {{mul}, ""},
       "kernel",
       {{mul}, ""},
       "kernel",
       [](const Operands& x) { return isMarked(x.plain.mul(x.plain)); }},
      {"override of another overload",
       block("aten", DispatchKey::CPU,
             [](Library& m) { m.impl("mul.Scalar", [](const Tensor& a, const Scalar&) { return marked(a); }); }),
       "CPU",
       "",
       kNone,
       "kernel",
       {{"aten::mul.Scalar"}, ""},
       "kernel",
       [](const Operands& x) { return isMarked(x.plain.mul(2)); }},
      {"override of an autograd kernel",
       block("aten", DispatchKey::AutogradCPU, [](Library& m) { m.impl("add.Tensor", &markedAdd); }),
       "AutogradCPU",
       "",
       {{"aten::add.Tensor"}, "AutogradCPU"},
       "kernel",
       {{"aten::add.Tensor"}, "AutogradCPU"},
       "Autograd alias",
       [](const Operands& x) { return isMarked(x.leaf.add(x.plain)); }},
      {"fallthrough in an autograd slot",
       block("aten", DispatchKey::AutogradCPU,
             [](Library& m) { m.impl("mul.Tensor", CppFunction::makeFallthrough()); }),
       "AutogradCPU",
       "",
       {{mul}, "AutogradCPU"},
       "fallthrough",
       {{mul}, "AutogradCPU"},
       "Autograd alias",
       [](const Operands& x) { return !x.leaf.mul(x.leaf).requires_grad(); }},
      {"kernel for a key that was absent",
       block("aten", DispatchKey::Tracer,
             [](Library& m) {
               m.impl("mul.Tensor", [](const Tensor& a, const Tensor&) {
                 ExcludeDispatchKeyGuard guard(DispatchKey::Tracer);
                 return marked(a);
               });
             }),
       "Tracer",
       "",
       kNone,
       "kernel",
       {{mul}, "Tracer"},
       "missing",
       [](const Operands& x) { return markedUnder(IncludeDispatchKeyGuard(DispatchKey::Tracer), x); }},
      {"kernel where the key fell through",
       block("aten", DispatchKey::AutocastCPU, [](Library& m) { m.impl("mul.Tensor", &markedBinary); }),
       "AutocastCPU",
       "",
       kNone,
       "kernel",
       {{mul}, "AutocastCPU"},
       "fallthrough",
       [](const Operands& x) { return markedUnder(AutocastGuard(kCPU), x); }},
      {"kernel for another backend",
       block("aten", DispatchKey::Meta, [](Library& m) { m.impl("mul.Tensor", &markedBinary); }),
       "Meta",
       "",
       kNone,
       "kernel",
       kNone,
       "kernel",
       {}},
      {"autograd kernel of a composite operator, absent before",
       block("aten", DispatchKey::AutogradCPU, [](Library& m) { m.impl("linear", &markedLinear); }),
       "AutogradCPU",
       "aten::linear",
       kNone,
       "kernel",
       {{"aten::linear"}, "AutogradCPU"},
       "fallthrough: composite runs below",
       [](const Operands& x) { return isMarked(shunt::linear(x.leaf_square, x.square)); }},
      {"kernel below a composite operator",
       block("aten", DispatchKey::CPU, [](Library& m) { m.impl("mm", &markedBinary); }),
       "CPU",
       "aten::mm",
       {{"aten::mm"}, "", {"aten::linear", "aten::matmul"}},
       "kernel",
       {{"aten::mm"}, "", {"aten::linear", "aten::matmul"}},
       "kernel",
       [](const Operands& x) {
         return isMarked(x.square.mm(x.square)) && isMarked(shunt::linear(x.square, x.square));
       }},
      {"fallthrough as a fallback for a key that no call has",
       block("_", DispatchKey::Tracer, [](Library& m) { m.fallback(CppFunction::makeFallthrough()); }), "Tracer", "",
       kNone, "fallthrough", kNone, "backend fallback",
       [](const Operands& x) {
         IncludeDispatchKeyGuard guard(DispatchKey::Tracer);
         try {
           return x.leaf.mul(x.leaf).requires_grad();
         } catch (const Error&) {
           return false;
         }
       }},
      {"kernel where a fallback was",
       block("aten", DispatchKey::CustomRNGKeyId, [](Library& m) { m.impl("mul.Tensor", &markedBinary); }),
       "CustomRNGKeyId",
       "",
       {{mul}, "CustomRNGKeyId"},
       "kernel",
       {{mul}, "CustomRNGKeyId"},
       "backend fallback",
       [](const Operands& x) { return isMarked(mulUnderSpare(x)); }},
      {"a fallback that is taken back",
       []() -> std::shared_ptr<void> {
         spare_fallback = nullptr;
         return std::shared_ptr<void>(nullptr, [](void*) { spare_fallback = spareFallback(); });
       },
       "CustomRNGKeyId",
       "",
       {{}, "CustomRNGKeyId"},
       "missing",
       {{}, "CustomRNGKeyId"},
       "backend fallback",
       [](const Operands& x) {
         try {
           mulUnderSpare(x);
           return false;
         } catch (const Error&) {
           return true;
         }
       }},
      {"a library that is loaded and unloaded",
       loadPlugin,
       "CPU",
       "",
       {{mul}, ""},
       "kernel",
       {{mul}, ""},
       "kernel",
       [](const Operands& x) { return isMarked(x.plain.mul(x.plain)) && isMarked(x.leaf.mul(x.leaf)); }},
  };
  return all;
}

/// Where a change is made and taken back.
enum class Place { kHere, kOtherThread, kInsideAThunk };
void PrintTo(Place p, std::ostream* out) {
  *out << (p == Place::kHere ? "here" : p == Place::kOtherThread ? "other thread" : "inside a thunk");
}

class Invalidation : public testing::TestWithParam<std::tuple<Row, Place>> {
 protected:
  void SetUp() override {
    spare_fallback = spareFallback();
    relu = makeBlock("aten", DispatchKey::CPU, [](Library& m) { m.impl("relu", &actingRelu); });
    jit::clear();
    warm(x);
  }
  void TearDown() override { spare_fallback = nullptr; }

  void at(Place place, const std::function<void()>& act) {
    if (place == Place::kHere) return act();
    if (place == Place::kOtherThread) return std::thread(act).join();
    inside_relu = act;
    const uint64_t thunks = jit::calls_in_thunks();
    const Tensor y = x.leaf.relu();
    EXPECT_GT(jit::calls_in_thunks(), thunks) << "the change was not made inside a thunk";
    EXPECT_EQ(static_cast<const float*>(y.data_ptr())[3], 4.f)
        << "the call that is under way ends in the world it began in";
    EXPECT_EQ(y.grad_fn()->name(), "ReluBackward0");
  }

  /// Makes a change there, and compares what it made invalid, and all that the log says since, with what was to go.
  void expectGone(Place place, const std::function<void()>& act, const Row& row, const Which& which,
                  const std::string& becomes) {
    if (place == Place::kInsideAThunk) x.leaf.relu();  // its thunk has to be there
    const Published before = published();
    const auto inlined = row.op.empty() ? std::set<ThunkName>() : relyingOn(row.op);
    const size_t logged = jit::invalidation_log().size();
    at(place, act);
    std::set<ThunkName> invalid;
    std::vector<std::string> lines;
    for (const auto& [name, code] : before) {
      const bool of_op =
          which.ops.empty() || has(which.ops, name.op) || (has(which.composites, name.op) && inlined.contains(name));
      if (!of_op || name.keys.find(which.key) == std::string::npos) continue;
      invalid.insert(name);
      lines.push_back(name.op + " keys={" + name.keys + "} <- " + (row.op.empty() ? name.op : row.op) + ": " +
                      row.slot + " changed to " + becomes);
    }
    EXPECT_EQ(gone(before), invalid) << "all others must stay valid";
    std::vector<std::string> log;
    for (const jit::InvalidationRecord& r : logSince(logged)) log.push_back(r.what + " <- " + r.cause);
    EXPECT_THAT(log, testing::UnorderedElementsAreArray(lines));
    invalid_ = invalid.size();
  }

  Operands x;
  std::shared_ptr<Library> relu;
  size_t invalid_ = 0;
};

TEST_P(Invalidation, TakesWhatReliedOnItAndNothingElse) {
  const auto& [row, place] = GetParam();
  std::shared_ptr<void> change;
  expectGone(place, [&] { change = row.make(); }, row, row.invalid, row.becomes);
  EXPECT_EQ(invalid_ == 0, row.invalid.ops == kNone.ops) << "the row's pairs are not compiled";
  // At once, interpreted, compiled anew, and again.
  for (int i = 0; row.in_force && i < 4; ++i) EXPECT_TRUE(row.in_force(x)) << "call " << i;
  expectGone(place, [&] { change = nullptr; }, row, row.invalid_after, row.becomes_after);
  for (int i = 0; row.in_force && i < 3; ++i)
    EXPECT_FALSE(row.in_force(x)) << "call " << i << " after it was taken back";
}
std::string rowName(const testing::TestParamInfo<std::tuple<Row, Place>>& info) {
  const auto& [row, place] = info.param;
  std::string name = row.what + std::string("/") + testing::PrintToString(place);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Changes, Invalidation,
                         testing::Combine(testing::ValuesIn(rows()),
                                          testing::Values(Place::kHere, Place::kOtherThread, Place::kInsideAThunk)),
                         rowName);

bool isMapped(const char* path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(path) != std::string::npos) return true;
  return false;
}

TEST(InvalidationByUnloading, TheLibraryReallyGoes) {
  const Operands x;
  auto plugin = loadPlugin();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(isMarked(x.leaf.mul(x.leaf)));
  EXPECT_TRUE(isMapped(DIFF_OVERRIDE_PLUGIN));
  plugin = nullptr;
  EXPECT_FALSE(isMapped(DIFF_OVERRIDE_PLUGIN));
  EXPECT_FALSE(isMarked(x.leaf.mul(x.leaf)));
}

// A kernel that a thunk calls replaces itself: the call that is running goes on, the next one is the new kernel's.
TEST(InvalidationInside, AKernelThatTheThunkRunsMayChangeEverything) {
  const Operands x;
  jit::clear();
  static std::optional<Library> inner;
  static bool act;
  act = false;
  Library outer(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  outer.impl("mul.Tensor", [](const Tensor& a, const Tensor&) {
    if (act) {
      act = false;
      inner.emplace(Library::Kind::kImpl, "aten", DispatchKey::CPU);
      inner->impl("mul.Tensor", &markedBinary);
      jit::clear();
    }
    return a.add(1);
  });
  for (int i = 0; i < 3; ++i) x.leaf.mul(x.leaf);
  const uint64_t thunks = jit::calls_in_thunks();
  act = true;
  const Tensor y = x.leaf.mul(x.leaf);
  EXPECT_GT(jit::calls_in_thunks(), thunks) << "the outer call has to be in a thunk";
  EXPECT_FALSE(act);
  EXPECT_EQ(static_cast<const float*>(y.data_ptr())[3], 4.f);
  EXPECT_EQ(y.grad_fn()->name(), "MulBackward0");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(isMarked(x.leaf.mul(x.leaf)));
  inner.reset();
  EXPECT_EQ(static_cast<const float*>(x.leaf.mul(x.leaf).data_ptr())[3], 4.f);
}

// Another thread's registration is in force for every call that starts after it returned.
TEST(InvalidationInside, CallsThatStartLaterSeeAnotherThreadsChange) {
  const Operands x;
  std::atomic<int> changes{0}, seen{0};
  std::atomic<bool> stop{false}, wrong{false};
  std::thread caller([&] {
    const Operands mine;
    while (!stop.load()) {
      const int begun = changes.load(std::memory_order_acquire);
      const bool marked_result = isMarked(mine.leaf.mul(mine.plain));
      // Odd: the kernel is replaced and nothing is under way.
      if (changes.load(std::memory_order_acquire) == begun && begun % 4 == 2 && !marked_result) wrong = true;
      if (changes.load(std::memory_order_acquire) == begun && begun % 4 == 0 && marked_result) wrong = true;
      seen.fetch_add(1);
    }
  });
  const auto waitForCalls = [&] {
    for (const int from = seen.load(); seen.load() < from + 20;) std::this_thread::yield();
  };
  for (int round = 0; round < 30; ++round) {
    waitForCalls();
    changes.fetch_add(1);
    Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    block.impl("mul.Tensor", &markedBinary);
    changes.fetch_add(1);
    waitForCalls();
    changes.fetch_add(1);
    block.reset();
    changes.fetch_add(1);
  }
  stop = true;
  caller.join();
  EXPECT_FALSE(wrong);
}

// Another thread's modes are its own: while it takes its turns in them, calls here stay in their thunks, nothing is
// compiled or dropped, and results have the same bits.
void expectThunksStayHereDuring(const std::function<void(const Operands& mine)>& turn) {
  const Operands x;
  jit::clear();
  warm(x);
  const Tensor expected = x.leaf.mul(x.leaf);
  std::atomic<bool> stop{false};
  std::atomic<int> turns{0};
  std::thread other([&] {
    const Operands mine;
    while (!stop.load()) {
      turn(mine);
      turns.fetch_add(1);
    }
  });
  while (turns.load() == 0) std::this_thread::yield();
  const Published before = published();
  const auto compiled = jit::stats().compiled;
  const int earlier = turns.load();
  for (int i = 0; i < 1000 || turns.load() < earlier + 10; ++i) {
    const uint64_t thunks = jit::calls_in_thunks();
    const Tensor y = x.leaf.mul(x.leaf);
    if (jit::calls_in_thunks() != thunks + 1 || !y.requires_grad() || !test::sameBits(expected, y)) {
      ADD_FAILURE() << "call " << i << " was not in a thunk, or its result is another one: " << y;
      break;
    }
  }
  EXPECT_EQ(jit::stats().compiled, compiled) << jit::statsTable();
  stop = true;
  other.join();
  EXPECT_TRUE(gone(before).empty());
}

TEST(Modes, GuardsOfAnotherThreadChangeNothingHere) {
  expectThunksStayHereDuring([](const Operands& mine) {
    NoGradGuard no_grad;
    AutocastGuard autocast(kCPU);
    mine.leaf.mul(mine.leaf);
    InferenceMode inference;
    EXPECT_THROW(mine.plain.mul(numbers(3)), Error);
  });
}

TEST(Modes, ADispatchModeOfAnotherThreadChangesNothingHere) {
  struct PassOn : DispatchMode {
    void handle(const OperatorHandle& op, Stack* stack) override {
      ++calls;
      op.callBoxed(stack);
    }
    int64_t calls = 0;
  };
  PassOn mode;
  expectThunksStayHereDuring([&](const Operands& mine) {
    const DispatchModeGuard guard(mode);
    const int64_t calls = mode.calls;
    mine.leaf.mul(mine.leaf).relu();
    EXPECT_EQ(mode.calls, calls + 2);
  });
}

TEST(Modes, AFakeTensorModeOfAnotherThreadChangesNothingHere) {
  expectThunksStayHereDuring([](const Operands& mine) {
    FakeTensorMode mode;
    const Tensor fake = mode.from_tensor(mine.leaf);
    EXPECT_TRUE(is_fake(fake.mul(fake).relu()));
    EXPECT_THROW(mine.leaf.mul(mine.leaf), Error);
  });
}

// Modes change keys, not tables: what was compiled is passed by and found again.
TEST(Modes, ComeAndGoWithoutACompile) {
  const Operands x;
  jit::clear();
  const auto once = [&] {
    x.leaf.mul(x.plain);
    {
      NoGradGuard guard;
      x.leaf.mul(x.plain);
      AutoGradMode nested(true);
      x.leaf.mul(x.plain);
    }
    {
      InferenceMode mode;
      x.plain.mul(x.plain);
    }
    {
      AutocastGuard guard(kCPU);
      x.square.mm(x.square);
      AutocastGuard off(kCPU, kBFloat16, false);
      x.square.mm(x.square);
    }
    {
      ExcludeDispatchKeyGuard guard(DispatchKey::AutogradCPU);
      x.leaf.mul(x.plain);
    }
    try {
      NoGradGuard guard;
      AutocastGuard autocast(kCPU);
      x.plain.mul(numbers(3));
    } catch (const Error&) {
    }
    EXPECT_TRUE(x.leaf.mul(x.plain).requires_grad()) << "the error took the modes with it";
  };
  for (int i = 0; i < 3; ++i) once();
  const Published before = published();
  const uint64_t compiled = jit::stats().compiled;
  const size_t log = jit::invalidation_log().size();
  const uint64_t thunks = jit::calls_in_thunks();
  for (int i = 0; i < 1000; ++i) once();
  EXPECT_EQ(jit::stats().compiled, compiled);
  EXPECT_EQ(published(), before);
  EXPECT_EQ(jit::invalidation_log().size(), log);
  EXPECT_GE(jit::calls_in_thunks() - thunks, 7000u);
}

}  // namespace
}  // namespace diff
