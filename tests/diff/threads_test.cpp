// Threads that call while others register, deregister, clear, switch the compiler and fork, and modes come and go:
// every result is one that the order of registrations allows. In builds with SHUNT_STRESS (src/tensor/stress.h; the
// sanitizers') the callers themselves retire every thunk in allocations drawn at random, so in the middle of thunks
// that are running. SHUNT_STRESS_SECONDS: for how long, 8 by default.
#include "tests/diff/many_calls.h"

#include "src/dispatch/thunk.h"
#include "src/tensor/stress.h"

#include <shunt/jit/jit.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace diff {
namespace {

using namespace shunt;
using std::chrono::milliseconds;

constexpr int kCallers = 4;
constexpr unsigned kSecondsForAChild = 120;

int secondsOfStress() {
  const char* text = std::getenv("SHUNT_STRESS_SECONDS");
  return text != nullptr ? std::stoi(text) : 8;
}

/// Of a mul.Tensor kernel: version n answers n everywhere. `lowest` is raised once a registration returned: a call that
/// begins later may not answer less. `highest` is raised before one begins: no call may answer more.
struct Versions {
  std::atomic<int> lowest{0}, highest{0};
};

Library registerVersion(int n) {
  Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  block.impl("mul.Tensor", [n](const Tensor& a, const Tensor&) { return shunt::full_like(a, n); });
  return block;
}

/// The version that answered, or -1 for an answer that none gives.
int versionOf(const Tensor& answer) {
  const Tensor c = answer.contiguous();
  const auto* p = static_cast<const float*>(c.data_ptr());
  for (int64_t i = 1; i < c.numel(); ++i)
    if (p[i] != p[0]) return -1;
  return static_cast<int>(p[0]);
}

class Caller {
 public:
  Caller(const std::vector<std::string>& expected, const std::string& product, Versions& versions, unsigned seed)
      : expected_(expected), product_(product), versions_(versions), random_(seed) {}

  /// "", or what was wrong.
  std::string callOne() {
    const size_t k = random_() % calls().size();
    const auto which = random_() % 16;
    if (which == 0) {
      AutocastGuard autocast(kCPU);
      if (bytesOf(x_.a.mm(x_.m)) != product_) return "mm inside of autocast";
      return "";
    }
    std::optional<InferenceMode> inference;
    if (which == 1 && k < 22) inference.emplace();  // those without gradients
    if (bytesOf(calls()[k](x_)) != expected_[k]) return "call " + std::to_string(k);
    return inference ? "" : callVersioned(which % 2 == 0);
  }

 private:
  std::string callVersioned(bool record) {
    std::optional<NoGradGuard> guard;
    if (!record) guard.emplace();
    const int at_least = versions_.lowest.load(std::memory_order_acquire);
    const Tensor answer = leaf_.mul(x_.b);
    const int got = versionOf(answer.detach());
    const int at_most = versions_.highest.load(std::memory_order_acquire);
    if (answer.requires_grad() != record) return "grad mode";
    if (got >= at_least && got <= at_most) return "";
    return "version " + std::to_string(got) + " of mul, outside of " + std::to_string(at_least) + " to " +
           std::to_string(at_most);
  }

  const Operands x_;
  const Tensor leaf_ = numbers({4, 8}).requires_grad_();
  const std::vector<std::string>& expected_;
  const std::string& product_;
  Versions& versions_;
  std::minstd_rand random_;
};

#ifdef SHUNT_STRESS
void retireAtRandom() {
  thread_local std::minstd_rand random(static_cast<unsigned>(std::hash<std::thread::id>()(std::this_thread::get_id())));
  if (random() % 1000 == 0) jit::retireAll("a checkpoint");
}
#endif

class Stress {
 public:
  Stress() : expected_(interpretedResults()) {
    jit::set_enabled(false);
    AutocastGuard autocast(kCPU);
    const Operands x;
    product_ = bytesOf(x.a.mm(x.m));
    jit::set_enabled(true);
  }

  void run(milliseconds time) {
    current_.emplace(registerVersion(0));
    end_ = std::chrono::steady_clock::now() + time;
    latest_end_ = end_ + 10 * time;  // a slow machine gets more to see enough of everything
    const auto during = [&](auto&& work) {
      return std::thread([this, work] {
        while (goesOn()) work();
      });
    };
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < kCallers; ++id) threads.push_back(during([this, id] { callForAWhile(id); }));
    threads.push_back(during([this] { change(); }));
    threads.push_back(during([this] { reset(); }));
    threads.push_back(during([this] { forkOne(); }));
    for (std::thread& t : threads) t.join();
    current_.reset();
  }

  std::atomic<uint64_t> in_thunks{0}, made{0};
  std::atomic<int> changes{0}, resets{0}, forks{0}, children_that_compiled{0};
  std::string first_failure;  // written once, by the thread that set failed_
  bool sawEnough() const { return changes > 20 && resets > 2 && forks > 3 && in_thunks > 100; }

 private:
  bool goesOn() const {
    const auto now = std::chrono::steady_clock::now();
    return now < (sawEnough() ? end_ : latest_end_) && !failed_.load(std::memory_order_relaxed);
  }

  void fail(const std::string& what) {
    if (!failed_.exchange(true)) first_failure = what;
  }

  // In a thread of its own each time, since one that saw the compiler switched off doesn't look again for long.
  void callForAWhile(unsigned id) {
    std::thread([this, id] {
      Caller caller(expected_, product_, versions_, id + 7 * static_cast<unsigned>(made.load()));
      for (int i = 0; i < 400 && goesOn(); ++i, made.fetch_add(1, std::memory_order_relaxed))
        if (const std::string wrong = caller.callOne(); !wrong.empty()) fail(wrong);
      in_thunks.fetch_add(jit::calls_in_thunks());
    }).join();
  }

  void change() {
    const int n = ++changes;
    versions_.highest.store(n, std::memory_order_release);
    Library next = registerVersion(n);
    versions_.lowest.store(n, std::memory_order_release);
    current_.emplace(std::move(next));                             // takes the one before back: n stays in force
    Library same(Library::Kind::kImpl, "aten", DispatchKey::CPU);  // other code, and the same results
    same.impl("sub.Tensor",
              [](const Tensor& a, const Tensor& b, const Scalar& alpha) { return a.add(b, -alpha.toDouble()); });
    Library fallback(Library::Kind::kImpl, "_", DispatchKey::Tracer);
    fallback.fallback(CppFunction::makeFallthrough());
    std::this_thread::sleep_for(milliseconds(100));
  }

  void reset() {
    std::this_thread::sleep_for(milliseconds(1000));  // long enough that much is compiled again in between
    jit::clear();
    if (++resets % 3 != 0) return;
    jit::set_enabled(false);
    std::this_thread::sleep_for(milliseconds(2));
    jit::set_enabled(true);
  }

  void forkOne() {
    std::this_thread::sleep_for(milliseconds(60));
    const pid_t child = fork();
    if (child == 0) _exit(inChild());
    int status = 0;
    waitpid(child, &status, 0);
    ++forks;
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) fail("child of fork: status " + std::to_string(status));
    children_that_compiled += WIFEXITED(status) && WEXITSTATUS(status) == 1;
  }

  /// 0: all was right; 1: and it compiled.
  int inChild() {
    alarm(kSecondsForAChild);  // a lock that nobody gives back
    const Operands x;
    const auto compiled = [] { return jit::stats().compiled; };
    const uint64_t before = compiled();
    if (firstWrong(x, expected_) >= 0) return 2;
    jit::clear();
    if (firstWrong(x, expected_) >= 0) return 3;
    const int version = versionOf(x.a.mul(x.b));
    if (version < versions_.lowest.load() || version > versions_.highest.load()) return 4;
    return compiled() > before ? 1 : 0;
  }

  const std::vector<std::string> expected_;
  std::string product_;
  Versions versions_;
  std::optional<Library> current_;
  std::chrono::steady_clock::time_point end_, latest_end_;
  std::atomic<bool> failed_{false};
};

TEST(Threads, CallWhileOthersRegisterToggleClearAndFork) {
  ASSERT_EQ(calls().size(), 30u);
  Stress stress;
#ifdef SHUNT_STRESS
  shunt::detail::stress_checkpoint = &retireAtRandom;
#endif
  stress.run(std::chrono::seconds(secondsOfStress()));
#ifdef SHUNT_STRESS
  shunt::detail::stress_checkpoint = nullptr;
#endif
  EXPECT_EQ(stress.first_failure, "");
  std::printf("%lu calls, %lu calls in thunks, %d changes, %d resets, %d forks, of which %d compiled\n",
              stress.made.load(), stress.in_thunks.load(), stress.changes.load(), stress.resets.load(),
              stress.forks.load(), stress.children_that_compiled.load());
  EXPECT_TRUE(stress.sawEnough());
  Dispatcher::singleton().checkInvariants();
  Dispatcher::singleton().reclaim();
  EXPECT_EQ(Dispatcher::singleton().stats().states_retired, 0u);
}

}  // namespace
}  // namespace diff
