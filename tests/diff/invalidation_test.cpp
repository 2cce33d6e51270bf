// What every kind of change makes invalid, what it leaves alone, and what the log says: one row a change. And that modes,
// which are no changes, come and go without a compile.
#include "tests/diff/thunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

namespace diff {
namespace {

using namespace shunt;
using testing::HasSubstr;

Tensor numbers(int64_t n = 16) { return shunt::arange(n, TensorOptions(kFloat)); }

struct Operands {
  Tensor plain = numbers(), square = numbers().reshape({4, 4}).clone();
  Tensor leaf = numbers().requires_grad_();
};

/// Calls every pair that the rows speak of, often enough that all are compiled.
void warm(const Operands& x) {
  for (int i = 0; i < 2; ++i) {
    x.plain.add(x.plain);
    x.leaf.add(x.plain);
    x.plain.mul(x.plain);
    x.leaf.mul(x.leaf);
    x.plain.sum();
    x.square.mm(x.square);
    shunt::linear(x.square, x.square);
    {
      NoGradGuard guard;
      x.leaf.mul(x.leaf);
    }
    AutocastGuard autocast(kCPU);
    x.square.mm(x.square);
  }
}

constexpr float kMark = 77;
Tensor marked(const Tensor& like) { return shunt::full_like(like, kMark); }
Tensor markedBinary(const Tensor& a, const Tensor&) { return marked(a); }
Tensor markedAdd(const Tensor& a, const Tensor&, const Scalar&) { return marked(a); }
bool isMarked(const Tensor& t) { return static_cast<const float*>(t.data_ptr())[1] == kMark; }

struct Row {
  const char* what;
  const char* ns;  // of the block: "_" for fallbacks
  DispatchKey key;
  std::function<void(Library&)> change;
  /// Which thunks it makes invalid: operators' names and a key that they ran with; no operator: none.
  std::string op;
  std::string keys;  // "" any
  std::string cause;
  /// Whether a call now gives the changed kernel's result; null where the change is not seen by calls.
  std::function<bool(const Operands&)> in_force;
};

void PrintTo(const Row& r, std::ostream* out) { *out << r.what; }

const Row kRows[] = {
    {"override of a backend kernel", "aten", DispatchKey::CPU, [](Library& m) { m.impl("mul.Tensor", &markedBinary); },
     "aten::mul.Tensor", "", "aten::mul.Tensor: CPU changed to", [](const Operands& x) { return isMarked(x.plain.mul(x.plain)); }},
    {"override of another overload", "aten", DispatchKey::CPU, [](Library& m) { m.impl("mul.Scalar", [](const Tensor& a, const Scalar&) { return marked(a); }); },
     "", "", "", [](const Operands& x) { return isMarked(x.plain.mul(2)); }},
    {"override of an autograd kernel", "aten", DispatchKey::AutogradCPU, [](Library& m) { m.impl("add.Tensor", &markedAdd); },
     "aten::add.Tensor", "AutogradCPU", "aten::add.Tensor: AutogradCPU changed to", [](const Operands& x) { return isMarked(x.leaf.add(x.plain)); }},
    {"fallthrough in an autograd slot", "aten", DispatchKey::AutogradCPU, [](Library& m) { m.impl("mul.Tensor", CppFunction::makeFallthrough()); },
     "aten::mul.Tensor", "AutogradCPU", "aten::mul.Tensor: AutogradCPU changed to", [](const Operands& x) { return !x.leaf.mul(x.leaf).requires_grad(); }},
    {"kernel for a key that was absent", "aten", DispatchKey::Tracer,
     [](Library& m) {
       m.impl("mul.Tensor", [](const Tensor& a, const Tensor&) {
         ExcludeDispatchKeyGuard guard(DispatchKey::Tracer);
         return marked(a);
       });
     },
     "", "", "",
     [](const Operands& x) {
       IncludeDispatchKeyGuard guard(DispatchKey::Tracer);
       try {
         return isMarked(x.plain.mul(x.plain));
       } catch (const Error&) {
         return false;  // nobody else knows what to do with the key
       }
     }},
    {"kernel for another backend", "aten", DispatchKey::Meta, [](Library& m) { m.impl("mul.Tensor", &markedBinary); }, "", "", "", {}},
    {"autograd kernel of a composite operator, absent before", "aten", DispatchKey::AutogradCPU,
     [](Library& m) { m.impl("linear", [](const Tensor& a, const Tensor&, const std::optional<Tensor>&) { return marked(a); }); },
     "", "", "", [](const Operands& x) { return isMarked(shunt::linear(x.square.clone().requires_grad_(), x.square)); }},
    {"kernel below a composite operator", "aten", DispatchKey::CPU, [](Library& m) { m.impl("mm", &markedBinary); },
     "aten::mm", "", "aten::mm: CPU changed to",
     [](const Operands& x) { return isMarked(x.square.mm(x.square)) && isMarked(shunt::linear(x.square, x.square)); }},
    {"fallback for an absent key", "_", DispatchKey::Tracer, [](Library& m) { m.fallback(CppFunction::makeFallthrough()); }, "", "", "", {}},
    {"boxed fallback for an absent key", "_", DispatchKey::Tracer,
     [](Library& m) {
       m.fallback(CppFunction::makeFromBoxed([](const OperatorHandle& op, DispatchKeySet ks, Stack* stack) {
         op.redispatchBoxed(ks & DispatchKeySet::fullAfter(DispatchKey::Tracer), stack);
       }));
     },
     "", "", "", {}},
};

class Invalidation : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    jit::clear();
    warm(x);
    before = published();
    ASSERT_GE(before.size(), 9u) << "the rows need compiled pairs";
    logged = jit::invalidation_log().size();
  }

  std::set<ThunkName> expected(const Row& row) const {
    std::set<ThunkName> out;
    for (const auto& [name, code] : before)
      if (name.op == row.op && name.keys.find(row.keys) != std::string::npos) out.insert(name);
    return out;
  }

  Operands x;
  Published before;
  size_t logged = 0;
};

TEST_P(Invalidation, TakesWhatReliedOnItAndNothingElse) {
  const Row& row = GetParam();
  const std::set<ThunkName> invalid = expected(row);
  ASSERT_EQ(invalid.empty(), row.op.empty()) << "the row's pair is not compiled";
  {
    Library block(Library::Kind::kImpl, row.ns, row.key);
    row.change(block);
    EXPECT_EQ(gone(before), invalid);
    const auto log = logSince(logged);
    EXPECT_EQ(log.size(), invalid.size());
    for (const jit::InvalidationRecord& r : log) {
      EXPECT_THAT(r.what, HasSubstr(row.op));
      EXPECT_THAT(r.cause, HasSubstr(row.cause));
    }
    // At once, interpreted, compiled anew, and again.
    for (int i = 0; row.in_force && i < 4; ++i) EXPECT_TRUE(row.in_force(x)) << "call " << i;
    logged = jit::invalidation_log().size();
    before = published();
  }
  // Taken back: the thunks made meanwhile go where they relied on the change.
  for (const jit::InvalidationRecord& r : logSince(logged)) EXPECT_THAT(r.cause, HasSubstr(row.cause.substr(0, row.cause.find(':'))));
  for (const ThunkName& name : gone(before)) EXPECT_TRUE(row.op.empty() || name.op == row.op) << testing::PrintToString(name);
  for (int i = 0; row.in_force && i < 3; ++i) EXPECT_FALSE(row.in_force(x)) << "call " << i << " after it was taken back";
}
std::string rowName(const testing::TestParamInfo<Row>& info) {
  std::string name = info.param.what;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Changes, Invalidation, testing::ValuesIn(kRows), rowName);

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
      x.plain.mul(numbers(3));
    } catch (const Error&) {
    }
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
