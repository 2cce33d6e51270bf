// Runs a kernel of its own below a thunk, for debugger_test: stops there, prints where the thunk is, lets it go.
#include "src/dispatch/thunk.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

extern "C" [[gnu::noinline]] void probe_stop(int call) { asm volatile("" ::"r"(call) : "memory"); }

namespace {

int calls = 0;

/// The line of /proc/self/maps that the address is in.
std::string mappingOf(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    size_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) != 2) continue;
    if (const auto at = reinterpret_cast<size_t>(address); begin <= at && at < end) return line;
  }
  return "nowhere";
}

shunt::Tensor product(const shunt::Tensor& a, const shunt::Tensor&) {
  probe_stop(++calls);
  return a.clone();
}

}  // namespace

int main() {
  using namespace shunt;
  Library kernels(Library::Kind::kImpl, "aten", DispatchKey::CPU);
  kernels.impl("mul.Tensor", &product);
  const Tensor x = ones({4}).requires_grad_();
  for (int i = 0; i < 3; ++i) x.mul(x);  // the first compiles
  for (const auto& t : jit::publishedThunks()) {
    if (t->op->name() != "aten::mul") continue;
    std::printf("process %d thunk %zx\nmapping %s\n", getpid(), reinterpret_cast<size_t>(t->code),
                mappingOf(t->code).c_str());
  }
  std::printf("in thunks %d\n", static_cast<int>(jit::calls_in_thunks()));
  std::fflush(stdout);
  jit::clear();
  probe_stop(-1);
  return 0;
}
