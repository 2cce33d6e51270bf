// An operator with a thunk made by hand, whose times against its interpreted kernel's are known. One test program each.
#pragma once

#include "tests/dispatch/util.h"

#include "src/dispatch/thunk.h"

#include <atomic>
#include <chrono>

namespace shunt::test {

using Fn = int64_t(const Tensor&);

inline constexpr int64_t kInterpreted = 1, kCompiled = 2;
inline std::atomic<int64_t> kernel_calls{0}, kernel_ns{0}, thunk_ns{0};

inline void spin(int64_t ns) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  while (ns > 0 && std::chrono::steady_clock::now() < end) {
  }
}

inline int64_t kernel(const Tensor&) {
  kernel_calls.fetch_add(1, std::memory_order_relaxed);
  spin(kernel_ns);
  return kInterpreted;
}

inline int64_t code(OperatorKernel*, DispatchKeySet, const Tensor&) {
  spin(thunk_ns);
  return kCompiled;
}

class HandMadeThunk final : public jit::Thunk {};

class TimedThunk : public testing::Test {
 protected:
  TimedThunk() {
    impl.impl("op", [this](DispatchKeySet ks, const Tensor& t) {
      keys = ks.raw();
      return kernel(t);
    });
    op.typed<Fn>().call(x);  // leaves its keys
    auto thunk = make_intrusive<HandMadeThunk>();
    thunk->op = &op.op();
    thunk->keys = keys;
    thunk->signature = detail::signatureOf(x);
    thunk->code = reinterpret_cast<void*>(&code);
    published = jit::publish(thunk);
  }
  ~TimedThunk() override { jit::retireAll("the test is over"); }

  static Library defined() {
    Library block = fragment("lose");
    block.def("op(Tensor x) -> int");
    return block;
  }
  static void times(int64_t of_kernel, int64_t of_thunk) {
    kernel_ns = of_kernel;
    thunk_ns = of_thunk;
  }
  void call(int n) {
    const auto typed = op.typed<Fn>();
    for (int i = 0; i < n; ++i) typed.call(x);
  }
  static size_t inForce() { return jit::publishedThunks().size(); }

  Library def = defined();
  Library impl = implBlock("lose", DispatchKey::CPU);
  OperatorHandle op = findOp("lose::op");
  std::atomic<uint64_t> keys{0};
  Tensor x = cpuTensor();
  bool published = false;
};

}  // namespace shunt::test
