// Runs every operator of this project interpreted and in a thunk, over sizes and dtypes: the same bits, the right
// values, and the thunk's own loop. To be started with SHUNT_JIT_SYNC=1 SHUNT_JIT_THRESHOLD=1 and SHUNT_STATS.
#include "tests/support/difference.h"

#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <functional>

namespace {

using shunt::Scalar;
using shunt::Tensor;

int failures = 0;
void fail(const std::string& what) {
  ++failures;
  std::printf("own_kernels: %s\n", what.c_str());
}

template <class Signature>
auto find(const char* name, const char* overload = "") {
  return shunt::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

struct Operation {
  const char* name;  // of the pair that has to be compiled
  bool loop;         // its thunk has a loop of its own
  std::function<Tensor(const Tensor&)> run;
  std::function<double(double)> exact;  // of small whole numbers
};

const Operation kOperations[] = {
    {"first::mine", true,
     [](const Tensor& x) { return find<Tensor(const Tensor&, const Scalar&)>("first::mine").call(x, 2); },
     [](double x) { return x * x + 2; }},
    {"first::mine_", true,
     [](const Tensor& x) {
       Tensor y = x.clone();
       return find<Tensor&(Tensor&, const Scalar&)>("first::mine_").call(y, 1);
     },
     [](double x) { return x * x + 1; }},
    {"first::mine.out", true,
     [](const Tensor& x) {
       Tensor y = shunt::empty_like(x);
       return find<Tensor&(const Tensor&, const Scalar&, Tensor&)>("first::mine", "out").call(x, 3, y);
     },
     [](double x) { return x * x + 3; }},
    {"again::mine", true, [](const Tensor& x) { return find<Tensor(const Tensor&)>("again::mine").call(x); },
     [](double x) { return 3 - x; }},
    {"again::exptimes", true,
     [](const Tensor& x) { return find<Tensor(const Tensor&, const Tensor&)>("again::exptimes").call(x.mul(0), x); },
     [](double x) { return x; }},
    {"second::mine", true,
     [](const Tensor& x) { return find<Tensor(const Tensor&, const Scalar&)>("second::mine").call(x, 2); },
     [](double x) { return x - 1; }},
    {"program::mine", true, [](const Tensor& x) { return find<Tensor(const Tensor&)>("program::mine").call(x); },
     [](double x) { return x + 11; }},
    {"program::twice", false, [](const Tensor& x) { return find<Tensor(const Tensor&)>("program::twice").call(x); },
     [](double x) { return x + x; }},
    {"aten::neg", true, [](const Tensor& x) { return x.neg(); }, [](double x) { return 3 - x; }},
};

shunt::jit::PairStats totals(const char* name) {
  shunt::jit::PairStats sum;
  for (const auto& p : shunt::jit::stats().pairs) {
    if (p.op != name) continue;
    sum.in_thunks += p.in_thunks;
    sum.guard_misses += p.guard_misses;
    sum.plan += p.plan;
  }
  return sum;
}

void check(const Operation& op, const Tensor& x, const std::string& about) {
  shunt::jit::set_enabled(false);
  const Tensor expected = op.run(x);
  shunt::jit::set_enabled(true);
  op.run(x);
  const auto before = totals(op.name);
  const Tensor got = op.run(x);
  const auto after = totals(op.name);
  const std::string where = std::string(op.name) + about;
  if (const std::string d = shunt::test::differenceOf(expected, got); !d.empty()) fail(where + ": in a thunk " + d);
  if (after.in_thunks != before.in_thunks + 1) fail(where + ": not in a thunk\n" + after.plan);
  // One element has no shape that others could have too: the interpreter computes it.
  if (op.loop && x.numel() > 1 && after.guard_misses != before.guard_misses)
    fail(where + ": the interpreter's loop ran\n" + after.plan);
  if (got.numel() != x.numel()) fail(where + ": " + std::to_string(got.numel()) + " elements");
  const Tensor values = got.detach().to(shunt::kDouble).flatten();
  for (int64_t i = 0; i < values.numel() && i < 12; ++i)
    if (values.data_ptr<double>()[i] != op.exact(static_cast<double>(i)))
      fail(where + ": element " + std::to_string(i) + " is wrong");
}

}  // namespace

int main() {
  for (const Operation& op : kOperations) {
    for (const shunt::ScalarType dtype : {shunt::kFloat, shunt::kDouble, shunt::kBFloat16}) {
      for (const int64_t n : {1, 7, 16, 1000}) {
        const Tensor x = shunt::arange(n, shunt::kDouble).remainder(12).to(dtype);
        check(op, x, std::string(" ") + shunt::toString(dtype) + " of " + std::to_string(n));
      }
    }
  }
  // With the wrapper above inlined too.
  Tensor leaf = shunt::arange(12, shunt::kFloat);
  leaf.requires_grad_();
  check(kOperations[std::size(kOperations) - 1], leaf, " with grad");
  if (failures == 0) std::puts("own_kernels: works");
  return failures == 0 ? 0 : 1;
}
