// sanitizer_probe race|overrun|none: does what a sanitizer has to see inside of compiled code. Built in sanitizer
// builds only; every pair is compiled by its first call.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <atomic>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

using namespace shunt;

namespace {

/// Two threads write one tensor.
void race(const Tensor& x) {
  Tensor shared = x.clone();
  std::atomic<int> ready{0};
  const auto write = [&] {
    Tensor own = x.clone();
    shunt::add_out(own, x, x);  // the thread is known to the dispatcher before both begin
    ready.fetch_add(1, std::memory_order_relaxed);
    while (ready.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
    for (int i = 0; i < 20'000; ++i) shunt::add_out(shared, x, x);
  };
  std::thread a(write), b(write);
  a.join(), b.join();
}

/// An operand says that it has more elements than its memory.
void overrun(const Tensor& x) {
  std::vector<float> memory(static_cast<size_t>(x.numel()) - 1);
  Tensor out = x.clone();
  shunt::add_out(out, x, shunt::from_blob(memory.data(), {x.numel()}));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "none";
  const Tensor x = shunt::ones({3}, TensorOptions(kFloat));
  Tensor out = x.clone();
  for (int i = 0; i < 2; ++i) shunt::add_out(out, x, x);
  const uint64_t before = jit::calls_in_thunks();
  shunt::add_out(out, x, x);
  if (jit::calls_in_thunks() != before + 1) return 3;
  if (what == "race") race(x);
  if (what == "overrun") overrun(x);
  std::puts("nothing was seen");
  return 0;
}
