// The steps of src/dispatch/publication.h in the dispatcher itself, with thunks made by hand that rely on other
// operators: what a change takes out, what a compile may publish, what a thunk in flight sees; and all at once on
// several threads.
#include "tests/dispatch/util.h"

#include "src/core/settings.h"
#include "src/dispatch/thunk.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace shunt {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Fn = int64_t(const Tensor&);
using Typed = TypedOperatorHandle<Fn>;

/// What the code of one thunk has in it.
struct Baked {
  const jit::Thunk* thunk = nullptr;
  int64_t value = 0;   // the inner operator's answer, as it was when the thunk was made
  bool folds = false;  // answers it for the whole call; otherwise asks for validity first
  const OperatorHandle* inner = nullptr;
  std::function<void()> before_inlined;
};

constexpr int kCodes = 64;
Baked baked[kCodes];

template <int N>
int64_t code(OperatorKernel*, DispatchKeySet, const Tensor& x) {
  const Baked& b = baked[N];
  if (b.folds) return b.value;
  if (b.before_inlined) b.before_inlined();
  return b.thunk->validity.holds() ? b.value : b.inner->typed<Fn>().call(x);
}
template <int... N>
constexpr std::array<int64_t (*)(OperatorKernel*, DispatchKeySet, const Tensor&), kCodes> codes(
    std::integer_sequence<int, N...>) {
  return {&code<N>...};
}

/// Places in `baked` that no thunk has.
class Places {
 public:
  Places() {
    for (int i = 0; i < kCodes; ++i) free_.push_back(i);
  }
  std::optional<int> take() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return std::nullopt;
    const int place = free_.back();
    free_.pop_back();
    return place;
  }
  void give(int place) {
    std::lock_guard lock(mutex_);
    baked[place] = {};
    free_.push_back(place);
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return free_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<int> free_;
};
Places places;

class HandMade final : public jit::Thunk {
 public:
  explicit HandMade(int place) : place_(place) {
    code = reinterpret_cast<void*>(codes(std::make_integer_sequence<int, kCodes>())[static_cast<size_t>(place)]);
  }
  ~HandMade() override { places.give(place_); }

 private:
  int place_;
};

constexpr int kCpuSlot = slotOf(DispatchKey::CPU);

/// pub::inner answers what it is registered with, pub::outer asks pub::inner.
class ThunkPublication : public testing::Test {
 protected:
  ThunkPublication() {
    inner_impl.emplace(answering(0));
    outer_impl.impl("outer", [this](DispatchKeySet ks, const Tensor& x) -> int64_t {
      keys.store(ks.raw(), std::memory_order_relaxed);
      return inner.typed<Fn>().call(x);
    });
    outer_impl.impl("unrelated", [](const Tensor&) -> int64_t { return -1; });
    outer.typed<Fn>().call(x);  // leaves its keys
  }
  ~ThunkPublication() override { jit::retireAll("the test is over"); }

  static Library defined() {
    Library block = fragment("pub");
    block.def("inner(Tensor x) -> int").def("outer(Tensor x) -> int").def("unrelated(Tensor x) -> int");
    return block;
  }
  static Library answering(int64_t n) {
    Library block = implBlock("pub", DispatchKey::CPU);
    block.impl("inner", [n](const Tensor&) -> int64_t { return n; });
    return block;
  }
  static jit::Edge edge(const OperatorHandle& op, int slot = kCpuSlot) {
    return {&op.op(), slot, jit::snapshot(op.op()).table[static_cast<size_t>(slot)].version};
  }
  /// A thunk of `op` that answers 100 and relies on `edges`. Not yet published; null: no place.
  intrusive_ptr<jit::Thunk> make(const OperatorHandle& op, std::vector<jit::Edge> edges, bool folds,
                                 int64_t value = 100) {
    const auto place = places.take();
    if (!place) return {};
    auto thunk = make_intrusive<HandMade>(*place);
    thunk->op = &op.op();
    thunk->keys = keys.load(std::memory_order_relaxed);
    thunk->signature = detail::signatureOf(x);
    thunk->edges = std::move(edges);
    baked[*place] = {thunk.get(), value, folds, &inner, before_inlined};
    return thunk;
  }
  void logMark() {
    ASSERT_TRUE(jit::publish(make(unrelated, {edge(unrelated)}, true)));
    ASSERT_EQ(jit::retireAll("mark"), 1u);
  }
  int64_t callOuter() { return outer.typed<Fn>().call(x); }

  Library def = defined();
  OperatorHandle inner = findOp("pub::inner"), outer = findOp("pub::outer"), unrelated = findOp("pub::unrelated");
  Library outer_impl = implBlock("pub", DispatchKey::CPU);
  std::optional<Library> inner_impl;
  std::atomic<uint64_t> keys{0};         // that the operators are called with
  std::function<void()> before_inlined;  // of thunks made next
  Tensor x = cpuTensor();
};

/// What was logged since a mark that `logMark` left (the log is a ring).
std::vector<std::string> causesSinceMark() {
  std::vector<std::string> causes;
  for (const jit::InvalidationRecord& r : jit::invalidationLog()) {
    causes.push_back(r.cause);
    if (r.cause == "mark") causes.clear();
  }
  return causes;
}

TEST_F(ThunkPublication, AChangeTakesDependantsAndNothingElse) {
  logMark();
  auto dependant = make(outer, {edge(outer), edge(inner)}, true);
  auto alone = make(unrelated, {edge(unrelated)}, true, 200);
  ASSERT_TRUE(jit::publish(dependant));
  ASSERT_TRUE(jit::publish(alone));
  EXPECT_EQ(callOuter(), 100);

  Library change = answering(1);
  EXPECT_EQ(callOuter(), 1);
  EXPECT_FALSE(dependant->validity.holds());
  EXPECT_TRUE(alone->validity.holds());
  EXPECT_EQ(unrelated.typed<Fn>().call(x), 200);
  EXPECT_THAT(causesSinceMark(), ElementsAre(HasSubstr("pub::inner: CPU changed to")));
  EXPECT_EQ(jit::publishedThunks().size(), 1u);
  Dispatcher::singleton().checkInvariants();
}

TEST_F(ThunkPublication, AChangeOfBothOperatorsIsOneChange) {
  logMark();
  auto thunk = make(outer, {edge(outer), edge(inner)}, true);
  ASSERT_TRUE(jit::publish(thunk));
  std::optional<Library> change;
  size_t before = 0;
  {
    Dispatcher::Batch batch;
    change.emplace(Library::Kind::kImpl, "pub", DispatchKey::CPU);
    change->impl("inner", [](const Tensor&) -> int64_t { return 1; });
    change->impl("outer", [](const Tensor&) -> int64_t { return 2; });
    EXPECT_EQ(callOuter(), 100) << "not published before the batch ends";
    before = Dispatcher::singleton().stats().states_published;
  }
  // The outer operator's twice: without the thunk before the inner one's, then its own change.
  EXPECT_EQ(Dispatcher::singleton().stats().states_published, before + 3);
  EXPECT_EQ(callOuter(), 2);
  EXPECT_FALSE(thunk->validity.holds());
  EXPECT_THAT(causesSinceMark(), SizeIs(1));
}

TEST_F(ThunkPublication, AFallbackChangesTheAbsentEntriesThatAThunkReliedOn) {
  const int slot = slotOf(DispatchKey::Tracer);
  auto dependant = make(outer, {edge(outer), edge(inner, slot)}, true);
  ASSERT_TRUE(jit::publish(dependant));
  Library fallback(Library::Kind::kImpl, "_", DispatchKey::Tracer);
  fallback.fallback(CppFunction::makeFallthrough());
  EXPECT_FALSE(dependant->validity.holds());
  EXPECT_EQ(callOuter(), 0);
}

jit::Edge settingEdge() {
  return {nullptr, static_cast<int>(Setting::kDefaultDtype), detail::settingVersion(Setting::kDefaultDtype)};
}

TEST_F(ThunkPublication, AChangedSettingTakesWhatReliedOnItAndNothingElse) {
  logMark();
  auto relying = make(outer, {edge(outer), edge(inner), settingEdge()}, true);
  auto alone = make(unrelated, {edge(unrelated)}, true, 200);
  ASSERT_TRUE(jit::publish(relying));
  ASSERT_TRUE(jit::publish(alone));
  set_default_dtype(get_default_dtype());  // no change
  EXPECT_TRUE(relying->validity.holds());
  EXPECT_EQ(callOuter(), 100);
  set_default_dtype(kDouble);
  EXPECT_EQ(callOuter(), 0);
  EXPECT_FALSE(relying->validity.holds());
  EXPECT_TRUE(alone->validity.holds());
  EXPECT_THAT(causesSinceMark(), ElementsAre("setting default_dtype changed to Double"));
  EXPECT_THROW(set_default_dtype(kLong), Error);
  EXPECT_TRUE(alone->validity.holds());
  set_default_dtype(kFloat);
  Dispatcher::singleton().checkInvariants();
}

// Inside a call of it, too: what it inlined is asked for its validity.
TEST_F(ThunkPublication, ASettingThatChangesInsideAThunkEndsItsValidity) {
  before_inlined = [] { set_default_dtype(kDouble); };
  ASSERT_TRUE(jit::publish(make(outer, {edge(outer), edge(inner), settingEdge()}, false)));
  EXPECT_EQ(callOuter(), 0) << "the inlined call came after the change";
  set_default_dtype(kFloat);
}

// The value was read when the call was recorded, long before the compile began.
TEST_F(ThunkPublication, WhatWasRecordedBeforeASettingChangedIsDropped) {
  auto recorded = make(outer, {edge(outer), settingEdge()}, true);
  set_default_dtype(kDouble);
  EXPECT_FALSE(jit::publish(recorded));
  auto back = make(outer, {edge(outer), settingEdge()}, true);
  set_default_dtype(kFloat);
  EXPECT_FALSE(jit::publish(recorded)) << "versions never come back";
  EXPECT_FALSE(jit::publish(back));
  EXPECT_EQ(callOuter(), 0);
}

TEST_F(ThunkPublication, ACompileThatWasOvertakenIsDropped) {
  auto changed = make(outer, {edge(outer), edge(inner)}, true);
  auto absent = make(outer, {edge(outer), edge(inner, slotOf(DispatchKey::Tracer))}, true);
  std::optional<Library> change(answering(1));
  Library tracer = implBlock("pub", DispatchKey::Tracer);
  tracer.impl("inner", [](const Tensor&) -> int64_t { return 3; });
  EXPECT_FALSE(jit::publish(changed));
  EXPECT_FALSE(jit::publish(absent));
  EXPECT_EQ(callOuter(), 1);
  EXPECT_TRUE(jit::publishedThunks().empty());
  // Taking the change back does not bring the version back.
  change.reset();
  EXPECT_EQ(callOuter(), 0);
  EXPECT_FALSE(jit::publish(changed));
}

TEST_F(ThunkPublication, AThunkInFlightAsksBeforeWhatItInlined) {
  std::optional<Library> change;
  before_inlined = [&] {
    if (!change) change.emplace(answering(1));
  };
  auto thunk = make(outer, {edge(outer), edge(inner)}, false);
  ASSERT_TRUE(jit::publish(thunk));
  EXPECT_EQ(callOuter(), 1) << "the registration inside returned before the inlined call began";
  EXPECT_FALSE(thunk->validity.holds());
}

TEST_F(ThunkPublication, AThunkForMoreKindsOfOperandsTakesThePlaceOfOneOfItsTier) {
  const size_t logged = jit::invalidation_log().size();
  const auto withKinds = [&](int kinds, jit::Tier tier, int64_t value) {
    auto thunk = make(unrelated, {edge(unrelated)}, true, value);
    thunk->kinds = kinds;
    thunk->tier = tier;
    return thunk;
  };
  const auto answer = [&] { return unrelated.typed<Fn>().call(x); };
  ASSERT_TRUE(jit::publish(withKinds(1, jit::Tier::kFirst, 11)));
  ASSERT_TRUE(jit::publish(withKinds(2, jit::Tier::kFirst, 12)));
  EXPECT_EQ(answer(), 12);
  EXPECT_FALSE(jit::publish(withKinds(2, jit::Tier::kFirst, 13))) << "no more than there are";
  EXPECT_FALSE(jit::publish(withKinds(1, jit::Tier::kFirst, 14)));
  ASSERT_TRUE(jit::publish(withKinds(1, jit::Tier::kSecond, 21))) << "a higher tier comes first";
  EXPECT_FALSE(jit::publish(withKinds(3, jit::Tier::kFirst, 15)));
  EXPECT_EQ(answer(), 21);
  ASSERT_TRUE(jit::publish(withKinds(2, jit::Tier::kSecond, 22)));
  EXPECT_EQ(answer(), 22);
  EXPECT_EQ(jit::publishedThunks().size(), 1u);
  EXPECT_EQ(jit::invalidation_log().size(), logged) << "a thunk that is replaced is no invalidation";
}

TEST_F(ThunkPublication, EachEntryIsFoundByItsKeysAndSignature) {
  std::vector<intrusive_ptr<jit::Thunk>> all;
  for (uint64_t i = 0; i < detail::kMaxHotEntries; ++i) {
    all.push_back(make(unrelated, {edge(unrelated)}, true));
    all.back()->keys |= (i % 5) << 1;  // five keysets, by other backends' bits
    all.back()->signature += i;
    ASSERT_TRUE(jit::publish(all.back()));
  }
  const OpState& state = *unrelated.op().state().load();
  ASSERT_NE(state.hot(), nullptr);
  for (const auto& a : all) {
    for (const auto& b : all)
      EXPECT_EQ(state.hot()->probe(a->keys, b->signature), a->keys == b->keys ? b->code : nullptr);
    EXPECT_EQ(state.hot()->find(a->keys).entry, &state.lookup(DispatchKeySet::fromRaw(a->keys)));
  }
  EXPECT_EQ(state.hot()->probe(1, all[0]->signature), nullptr);
  EXPECT_EQ(state.hot()->probe(all[0]->keys, 1), nullptr);
}

TEST_F(ThunkPublication, TheColdestMakesRoom) {
  logMark();
  std::vector<intrusive_ptr<jit::Thunk>> all;
  const auto publishOne = [&] {
    all.push_back(make(unrelated, {edge(unrelated)}, true));
    all.back()->signature += all.size();
    ASSERT_TRUE(jit::publish(all.back()));
  };
  const auto out = [&] {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < all.size(); ++i)
      if (!all[i]->validity.holds()) numbers.push_back(i);
    return numbers;
  };
  for (int i = 0; i < detail::kMaxHotEntries; ++i) publishOne();
  for (size_t i = 0; i < all.size(); ++i) all[i]->timing.addUses(i == 5 || i == 9 ? 100 : 3000);
  EXPECT_THAT(out(), ElementsAre());
  publishOne();
  EXPECT_THAT(out(), ElementsAre(5)) << "of equals, the oldest";
  all[9]->timing.addUses(9000);
  all.back()->timing.addUses(5000);
  publishOne();
  EXPECT_THAT(out(), ElementsAre(0, 5));
  EXPECT_THAT(causesSinceMark(), SizeIs(2));
  // What was used a lot, but long ago, goes before what is used a little now.
  for (int round = 0; round < 6; ++round) {
    for (size_t i = 0; i < all.size(); ++i)
      if (i != 9) all[i]->timing.addUses(1000);
    publishOne();
  }
  EXPECT_FALSE(all[9]->validity.holds());
}

TEST_F(ThunkPublication, AThunkIsFreedWithTheLastCallInIt) {
  const size_t all = places.count();
  std::optional<Library> change;
  size_t inside = 0;
  before_inlined = [&] {
    change.emplace(answering(1));
    Dispatcher::singleton().reclaim();
    inside = places.count();
  };
  ASSERT_TRUE(jit::publish(make(outer, {edge(outer), edge(inner)}, false)));
  callOuter();
  EXPECT_EQ(inside, all - 1) << "freed while a call was in it";
  Dispatcher::singleton().reclaim();
  EXPECT_EQ(places.count(), all);
}

// Answers never go back for one thread, whichever operator it asks, and never behind a registration that has returned.
TEST_F(ThunkPublication, CallersRegistrarAndCompilerAtOnce) {
  std::mutex mutex;
  std::map<uint64_t, int64_t> answers;  // by version of pub::inner's entry
  std::atomic<int64_t> lowest{0};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0}, in_thunks{0}, published{0}, refused{0};

  const auto both = [this](int64_t n) {
    Dispatcher::Batch batch;
    Library next = answering(n);
    next.impl("outer", [this](const Tensor& t) -> int64_t { return inner.typed<Fn>().call(t); });
    return next;
  };
  std::thread registrar([&] {
    for (int64_t n = 1; !stop.load(); ++n) {
      Library next = n % 4 == 0 ? both(n) : answering(n);
      lowest.store(n, std::memory_order_release);
      inner_impl.emplace(std::move(next));
      {
        std::lock_guard lock(mutex);
        answers[edge(inner).version] = n;
      }
      if (n % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));  // or no compile is ever in time
    }
  });
  std::thread compiler([&] {
    for (bool folds = true; !stop.load(); folds = !folds) {
      std::vector<jit::Edge> edges = {edge(outer), edge(inner)};
      std::optional<int64_t> value;
      {
        std::lock_guard lock(mutex);
        if (const auto it = answers.find(edges[1].version); it != answers.end()) value = it->second;
      }
      if (!value) continue;
      auto thunk = make(outer, std::move(edges), folds, *value);
      if (thunk)
        ++(jit::publish(thunk) ? published : refused);
      else
        Dispatcher::singleton().reclaim();
    }
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto enough = [&] {
    return (published > 100 && refused > 100 && lowest > 100 && jit::calls_in_thunks() > 100) ||
           std::chrono::steady_clock::now() > deadline;
  };
  const auto call = [&] {
    const Tensor mine = cpuTensor();
    int64_t last = 0;
    for (int i = 0; i < 100'000 || !enough(); ++i) {
      last = std::max(last, lowest.load(std::memory_order_acquire));
      const int64_t got = (i % 2 == 0 ? outer : inner).typed<Fn>().call(mine);
      if (got < last) ++wrong;
      last = std::max(last, got);
    }
    in_thunks += jit::calls_in_thunks();
  };
  std::thread one(call), two(call);
  one.join();
  two.join();
  stop = true;
  registrar.join();
  compiler.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_GT(in_thunks.load(), 100u);
  EXPECT_GT(published.load(), 100u);
  EXPECT_GT(refused.load(), 100u);
  EXPECT_GT(lowest.load(), 100);
  std::printf("%ld registrations, %lu thunks published, %lu refused, %lu calls in thunks\n",
              static_cast<long>(lowest.load()), published.load(), refused.load(), in_thunks.load());
}

}  // namespace
}  // namespace shunt
