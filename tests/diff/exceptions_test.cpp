// Exceptions that kernels throw through thunks: the interpreter's words, everything given back, and the thread's modes
// and frames as they were.
#include "tests/diff/many_calls.h"

#include <shunt/jit/jit.h>
#include <shunt/tensor/allocator.h>

#include <gtest/gtest.h>

#include <memory>

namespace diff {
namespace {

using namespace shunt;

/// What users' kernels throw: none of the library's types, with something to give back.
struct UsersError {
  std::string what;
  std::shared_ptr<int> held;
};

std::weak_ptr<int> last_held;
bool throw_now = false;

/// While it lives, mul.Tensor's and mm's CPU kernels are a user's, which throw when told so.
struct UsersKernels {
  Library block{Library::Kind::kImpl, "aten", DispatchKey::CPU};
  UsersKernels() {
    block.impl("mul.Tensor", [](const Tensor& a, const Tensor& b) {
      const Tensor made_before = a.add(b);  // to be given back by unwinding
      if (throw_now) {
        auto held = std::make_shared<int>(7);
        last_held = held;
        throw UsersError{"from a user's kernel for " + std::to_string(a.numel()) + " elements", held};
      }
      return made_before;
    });
    block.impl("mm", [](const Tensor& a, const Tensor& b) {
      if (throw_now) throw std::runtime_error("from a user's mm");
      return a.add(b.t());
    });
  }
};

std::string messageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string("Error: ") + e.what();
  } catch (const std::runtime_error& e) {
    return std::string("runtime_error: ") + e.what();
  } catch (const UsersError& e) {
    return "UsersError: " + e.what;
  }
  return "no error";
}

/// Blocks that this thread has and hasn't given back; 0 in builds without free lists, where the sanitizer knows.
int64_t liveBlocks() {
  const auto c = shunt::detail::allocationCounters();
  return static_cast<int64_t>(c.from_list + c.from_system) - static_cast<int64_t>(c.to_list + c.to_system);
}

struct Bad {
  const char* what;
  std::function<void(const Tensor& fits)> call;  // throws for `odd`, or when users' kernels throw
};

const Tensor kA = numbers({4, 8}), kOdd = numbers({3, 5}), kLeaf = numbers({4, 8}).requires_grad_();
const Tensor kColumns = numbers({8, 4});

const std::vector<Bad> kBuiltIn = {
    {"shapes", [](const Tensor& t) { kA.add(t); }},
    {"shapes, with grad", [](const Tensor& t) { kLeaf.add(t); }},
    {"mm", [](const Tensor& t) { kA.mm(t.t()); }},
    {"mm, with grad", [](const Tensor& t) { kLeaf.mm(t.t()); }},
    {"mm, autocast",
     [](const Tensor& t) {
       AutocastGuard autocast(kCPU);
       kA.mm(t.t());
     }},
    {"mm, grad and autocast",
     [](const Tensor& t) {
       AutocastGuard autocast(kCPU);
       kLeaf.mm(t.t());
     }},
    {"linear", [](const Tensor& t) { shunt::linear(kA, t); }},
    {"linear, with grad", [](const Tensor& t) { shunt::linear(kLeaf, t); }},
    {"in-place", [](const Tensor& t) { kA.clone().add_(t); }},
    {"out=",
     [](const Tensor& t) {
       Tensor out = numbers({4, 8});
       shunt::add_out(out, kA, t);
     }},
    {"a leaf in place", [](const Tensor& t) { (t.size(0) == 3) ? void(kLeaf.add_(1)) : void(kLeaf.clone().add_(1)); }},
    {"a composite", [](const Tensor& t) { t.reshape({8, 4}); }},
    {"result type", [](const Tensor& t) { kA.to(kLong).add_((t.size(0) == 3) ? Scalar(1.5) : Scalar(1)); }},
    {"after work in the same expression", [](const Tensor& t) { kLeaf.add(kA).sigmoid().mul(kA).add(t); }},
};

const std::vector<Bad> kUsers = {
    {"no chain above it", [](const Tensor&) { kA.mul(kA); }},
    {"below autograd", [](const Tensor&) { kLeaf.mul(kA); }},
    {"below autograd and autocast",
     [](const Tensor&) {
       AutocastGuard autocast(kCPU);
       kLeaf.mm(kColumns);
     }},
    {"below autocast",
     [](const Tensor&) {
       AutocastGuard autocast(kCPU);
       kA.mm(kColumns);
     }},
    {"below a composite", [](const Tensor&) { shunt::linear(kLeaf, kA); }},
    {"in a backward pass",
     [](const Tensor&) {
       const bool later = std::exchange(throw_now, false);
       const Tensor x = kA.clone().requires_grad_();
       const Tensor y = x.mul(kA).sum();
       throw_now = later;
       y.backward();
     }},
};

void expectTheInterpretersErrors(const std::vector<Bad>& all, const Tensor& bad) {
  const auto attempt = [&](const Bad& b, bool throwing) {
    throw_now = throwing;
    const std::string message = messageOf([&] { b.call(throwing ? bad : kA); });
    throw_now = false;
    return message;
  };
  std::vector<std::string> interpreted;
  jit::set_enabled(false);
  for (const Bad& b : all) interpreted.push_back(attempt(b, true));
  jit::set_enabled(true);
  for (const Bad& b : all)
    for (int i = 0; i < 3; ++i) ASSERT_EQ(attempt(b, false), "no error") << b.what;
  const uint64_t before = jit::calls_in_thunks();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(interpreted[i], "no error") << all[i].what;
    EXPECT_EQ(attempt(all[i], true), interpreted[i]) << all[i].what;
    const int64_t live = liveBlocks();
    for (int round = 0; round < 20; ++round) attempt(all[i], true);
    EXPECT_EQ(liveBlocks(), live) << all[i].what << ": blocks were not given back";
    EXPECT_EQ(attempt(all[i], false), "no error") << all[i].what;
  }
  EXPECT_GT(jit::calls_in_thunks() - before, 20 * all.size() / 2);
  EXPECT_TRUE(last_held.expired()) << "an exception was never destroyed";
  EXPECT_EQ(shunt::detail::threadFrames().depth(), 0);
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(Exceptions, OfTheLibrarysKernels) { expectTheInterpretersErrors(kBuiltIn, kOdd); }

TEST(Exceptions, OfUsersKernels) {
  const UsersKernels kernels;
  expectTheInterpretersErrors(kUsers, kA);
}

}  // namespace
}  // namespace diff
