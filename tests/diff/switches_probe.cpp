// Calls a few pairs as often as the first argument says, waits for the compiler, calls them once more and prints what
// happened, for switches_test.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  using namespace shunt;
  const int calls = std::atoi(argv[1]);
  const Tensor x = arange(16, TensorOptions(kFloat)), y = x.to(kDouble), leaf = x.clone().requires_grad_();
  bool good = true;
  const auto callAll = [&] {
    good &= static_cast<const float*>(x.add(x).data_ptr())[5] == 10;
    good &= static_cast<const double*>(y.mul(y).data_ptr())[5] == 25;
    good &= static_cast<const float*>(x.relu().data_ptr())[5] == 5;
    leaf.sub(x);
    x.sum();
    x.neg();
  };
  for (int i = 0; i < calls; ++i) callAll();
  const uint64_t early = jit::calls_in_thunks();
  jit::wait_idle();
  callAll();
  const jit::Stats s = jit::stats();
  std::printf("threads=%d\n", get_num_threads());
  std::printf("good=%d available=%d early=%d late=%d compiled=%d failed=%d code=%zu\n", good, s.available, early != 0,
              jit::calls_in_thunks() != early, static_cast<int>(s.compiled), static_cast<int>(s.failed), s.code_bytes);
  const std::string_view then = argc > 2 ? argv[2] : "";
  if (then == "wait") std::getchar();  // until whoever started it has seen enough
  if (then == "fork") {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) callAll();
    if (child > 0) waitpid(child, nullptr, 0);
  }
  return 0;
}
