// Threads that call while others change everything; the compiler cleared under live graphs; exceptions; fork.
#include "tests/diff/thunks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace diff {
namespace {

using namespace shunt;

Tensor numbers(std::initializer_list<int64_t> sizes, ScalarType dtype = kFloat) {
  int64_t n = 1;
  for (const int64_t s : sizes) n *= s;
  return (shunt::arange(n, TensorOptions(kFloat)) * 0.25f - 1.f).to(dtype).reshape(std::vector<int64_t>(sizes)).clone();
}

std::string bytesOf(const Tensor& t) {
  const Tensor c = t.contiguous();
  return {static_cast<const char*>(c.data_ptr()), static_cast<size_t>(c.numel() * c.element_size())};
}

struct Operands {
  Tensor a = numbers({4, 8}), b = numbers({4, 8}), row = numbers({8}), m = numbers({8, 4});
  Tensor doubles = numbers({4, 8}, kDouble), half = numbers({4, 8}, kBFloat16), ints = numbers({4, 8}, kLong), t = numbers({8, 4}).t();
};

using Call = std::function<Tensor(const Operands&)>;

Tensor gradientOf(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  f(leaf).sum().backward();
  return leaf.grad();
}

// Thirty and more pairs, a third of them with gradients, none of which looks at mul.Tensor's CPU kernel (see below).
const std::vector<Call>& calls() {
  static const std::vector<Call> all = {
      [](const Operands& x) { return x.a.add(x.b); },
      [](const Operands& x) { return x.a.add(x.row); },
      [](const Operands& x) { return x.a.add(x.t); },
      [](const Operands& x) { return x.a.add(x.doubles); },
      [](const Operands& x) { return x.half.add(x.a); },
      [](const Operands& x) { return x.ints.add(x.a); },
      [](const Operands& x) { return x.a.sub(x.b); },
      [](const Operands& x) { return x.doubles.sub(x.doubles); },
      [](const Operands& x) { return x.a.div(x.b); },
      [](const Operands& x) { return x.ints.div(x.ints.add(10), "floor").to(kFloat); },
      [](const Operands& x) { return x.a.exp(); },
      [](const Operands& x) { return x.half.exp(); },
      [](const Operands& x) { return x.a.relu(); },
      [](const Operands& x) { return x.t.sigmoid(); },
      [](const Operands& x) { return x.a.tanh(); },
      [](const Operands& x) { return x.a.sum(); },
      [](const Operands& x) { return x.a.mm(x.m); },
      [](const Operands& x) { return x.a.clone().add_(x.row); },
      [](const Operands& x) { return x.a.gt(x.b); },
      [](const Operands& x) { return shunt::maximum(x.a, x.t); },
      [](const Operands& x) { return x.a.t().clone(); },
      [](const Operands& x) { return x.a.softmax(-1); },
      [](const Operands& x) { return gradientOf(x.a, [&](const Tensor& y) { return y.add(x.b); }); },
      [](const Operands& x) { return gradientOf(x.a, [&](const Tensor& y) { return y.sub(x.row); }); },
      [](const Operands& x) { return gradientOf(x.a, [](const Tensor& y) { return y.relu(); }); },
      [](const Operands& x) { return gradientOf(x.row, [&](const Tensor& y) { return x.a.add(y); }); },
      [](const Operands& x) { return gradientOf(x.a, [](const Tensor& y) { return y.t().add(1); }); },
      [](const Operands& x) { return gradientOf(x.a, [](const Tensor& y) { return y.clone().add_(2); }); },
      [](const Operands& x) { return gradientOf(x.doubles, [](const Tensor& y) { return y.neg(); }); },
      [](const Operands& x) {
        NoGradGuard guard;
        return x.a.detach().requires_grad_().sub(x.b);
      },
  };
  return all;
}

TEST(Threads, CallWhileOthersRegisterToggleAndClear) {
  std::vector<std::string> expected;
  jit::set_enabled(false);
  for (const Call& call : calls()) expected.push_back(bytesOf(call(Operands())));
  jit::set_enabled(true);
  for (const Call& call : calls()) call(Operands());
  ASSERT_EQ(calls().size(), 30u);

  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, wrong_mul{0}, changes{0};
  std::atomic<uint64_t> in_thunks{0};
  std::string first_wrong;
  const auto caller = [&](size_t id) {
    const Operands x;
    const std::string twice = bytesOf(x.a.add(x.a)), squared = [&] {
      std::string out(twice.size(), 0);
      const auto* p = static_cast<const float*>(x.a.data_ptr());
      for (int i = 0; i < 32; ++i) reinterpret_cast<float*>(out.data())[i] = p[i] * p[i];
      return out;
    }();
    for (size_t i = id; !stop.load(); ++i) {
      const size_t k = i % calls().size();
      if (bytesOf(calls()[k](x)) != expected[k] && wrong.fetch_add(1) == 0) first_wrong = std::to_string(k);
      // The kernel that the registrar replaces: either world's result, and no other.
      const std::string got = bytesOf(x.a.mul(x.a));
      if (got != squared && got != twice) wrong_mul.fetch_add(1);
    }
    in_thunks.fetch_add(jit::calls_in_thunks());
  };
  std::vector<std::thread> threads;
  for (size_t id = 0; id < 4; ++id) threads.emplace_back(caller, id * 7);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  for (int round = 0; std::chrono::steady_clock::now() < end; ++round, ++changes) {
    Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
    block.impl("mul.Tensor", [](const Tensor& a, const Tensor& b) { return a.add(b); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    // Rarely enough that much is compiled again in between.
    if (round % 60 == 40) jit::clear();
    if (round % 150 == 100) {
      jit::set_enabled(false);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      jit::set_enabled(true);
    }
    block.reset();
    Library fallback(Library::Kind::kImpl, "_", DispatchKey::Tracer);
    fallback.fallback(CppFunction::makeFallthrough());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong.load(), 0) << "first: call " << first_wrong;
  EXPECT_EQ(wrong_mul.load(), 0);
  EXPECT_GT(changes.load(), 20);
  EXPECT_GT(in_thunks.load(), 100u);
  Dispatcher::singleton().checkInvariants();
}

TEST(Clear, LeavesGraphsAndTensorsThatThunksMade) {
  const auto forward = [](const Tensor& x, const Tensor& w) { return x.mm(w).add(x).relu().sigmoid().mul(x).t().sum(); };
  const Tensor w = numbers({8, 8});
  std::vector<Tensor> leaves, results;
  std::string expected;
  for (int i = 0; i < 6; ++i) {
    const Tensor leaf = numbers({8, 8}).requires_grad_();
    leaves.push_back(leaf);
    results.push_back(forward(leaf, w));
    if (i == 0) {
      jit::set_enabled(false);
      const Tensor other = numbers({8, 8}).requires_grad_();
      forward(other, w).backward();
      expected = bytesOf(other.grad());
      jit::set_enabled(true);
    }
  }
  ASSERT_GT(published().size(), 5u);
  jit::clear();
  Dispatcher::singleton().reclaim();
  EXPECT_TRUE(published().empty());
  // Code that took the place of what was cleared.
  for (int i = 0; i < 2; ++i) numbers({3, 5}, kDouble).add(1).exp().neg().sum();
  for (size_t i = 0; i < 4; ++i) {
    results[i].backward();
    EXPECT_EQ(bytesOf(leaves[i].grad()), expected);
    jit::clear();
    Dispatcher::singleton().reclaim();
  }
  results.clear();  // two graphs that nobody went through
  leaves.clear();
}

TEST(Exceptions, PassThroughThunksWithTheInterpretersWords) {
  const Tensor a = numbers({4, 8}), odd = numbers({3, 5}), leaf = numbers({4, 8}).requires_grad_();
  const std::vector<std::function<void()>> bad = {
      [&] { a.add(odd); },
      [&] { leaf.add(odd); },
      [&] { a.mm(a); },
      [&] { leaf.mm(a); },
      [&] { leaf.add_(1); },
      [&] { a.reshape({5, 7}); },
      [&] { numbers({4, 8}, kLong).clone().add_(1.5); },
      [&] { shunt::linear(a, odd); },
  };
  const auto message = [](const std::function<void()>& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  std::vector<std::string> interpreted;
  jit::set_enabled(false);
  for (const auto& f : bad) interpreted.push_back(message(f));
  jit::set_enabled(true);
  // The same signatures with operands that fit.
  for (int i = 0; i < 3; ++i) {
    a.add(a), leaf.add(a), a.mm(a.t().clone()), leaf.mm(a.t().clone()), a.reshape({8, 4}), shunt::linear(a, a);
    numbers({4, 8}, kLong).clone().add_(1);
  }
  const uint64_t before = jit::calls_in_thunks();
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < bad.size(); ++i) {
      EXPECT_NE(interpreted[i], "no error") << i;
      EXPECT_EQ(message(bad[i]), interpreted[i]);
    }
  EXPECT_GT(jit::calls_in_thunks() - before, 3 * bad.size() / 2);
}

int statusOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Fork, TheChildKeepsItsThunksWhileTheParentRefillsTheMemory) {
  const Tensor a = numbers({4, 8}), b = numbers({4, 8});
  const std::string expected = bytesOf(a.sub(b));
  a.sub(b);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    char c;
    if (read(ready[0], &c, 1) != 1) _exit(3);
    const uint64_t before = jit::calls_in_thunks();
    bool good = true;
    for (int i = 0; i < 100; ++i) good &= bytesOf(a.sub(b)) == expected;
    good &= jit::calls_in_thunks() >= before + 100;
    good &= bytesOf(a.sub(numbers({8}))).size() == 128;  // a pair that nobody compiled
    const Tensor leaf = numbers({4, 8}).requires_grad_();
    leaf.sub(b).sum().backward();
    jit::clear();
    good &= bytesOf(a.sub(b)) == expected;
    _exit(good ? 0 : 1);
  }
  jit::clear();
  Dispatcher::singleton().reclaim();
  for (int i = 0; i < 2; ++i)
    for (const Call& call : calls()) call(Operands());  // other code at the old addresses, if anything wrote there
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  EXPECT_EQ(statusOf(child), 0);
  EXPECT_EQ(bytesOf(a.sub(b)), expected);
  close(ready[0]), close(ready[1]);
}

TEST(Fork, InsideAKernelThatAThunkCalled) {
  static pid_t child;
  static bool fork_now;
  static int ready[2];
  fork_now = false;
  ASSERT_EQ(pipe(ready), 0);
  Library block(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  block.impl("mul.Tensor", [](const Tensor& x, const Tensor& y) {
    if (fork_now) {
      fork_now = false;
      child = fork();
      char c;
      if (child == 0 && read(ready[0], &c, 1) != 1) _exit(3);
    }
    return x.add(y);
  });
  const Tensor leaf = numbers({4, 8}).requires_grad_(), b = numbers({4, 8});
  for (int i = 0; i < 3; ++i) leaf.mul(b);
  const uint64_t before = jit::calls_in_thunks();
  fork_now = true;
  const Tensor y = leaf.mul(b);  // both processes return through the thunk
  if (child == 0) {
    const bool good = bytesOf(y) == bytesOf(b.add(b)) && y.grad_fn()->name() == "MulBackward0" && bytesOf(leaf.mul(b)) == bytesOf(y);
    _exit(good ? 0 : 1);
  }
  EXPECT_GT(jit::calls_in_thunks(), before);
  block.reset();
  jit::clear();
  Dispatcher::singleton().reclaim();
  for (int i = 0; i < 2; ++i)
    for (const Call& call : calls()) call(Operands());
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  EXPECT_EQ(statusOf(child), 0);
  close(ready[0]), close(ready[1]);
}

}  // namespace
}  // namespace diff
