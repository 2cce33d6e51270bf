// cache_probe [rounds]: calls operators of every kind interpreted, then compiled or loaded, compares every bit and
// prints what the compiler did. For cache_test and fault_test; the switches are theirs.
#include <shunt/jit/jit.h>
#include <shunt/shunt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace shunt;

std::string bytesOf(const Tensor& t) {
  const Tensor dense = t.contiguous();
  return {static_cast<const char*>(dense.data_ptr()), static_cast<size_t>(dense.numel()) * dense.element_size()};
}

struct Operands {
  Tensor a = arange(60, TensorOptions(kFloat)).div(7).reshape({4, 15}), b = a.mul(a).sub(3),
         row = arange(15, TensorOptions(kFloat));
  Tensor d = a.to(kDouble), h = a.to(kBFloat16), square = arange(64, TensorOptions(kFloat)).reshape({8, 8}).div(9);
  Tensor i = arange(60, TensorOptions(kLong)).reshape({4, 15});
};

/// What a call leaves behind, as bytes.
using Call = std::function<std::string(const Operands&)>;

std::string gradients(const Tensor& of, const Tensor& by) {
  of.sum().backward();
  return bytesOf(of) + bytesOf(by.grad());
}

const std::vector<Call>& calls() {
  static const auto& all = *new std::vector<Call>{
      [](const Operands& o) { return bytesOf(o.a.add(o.b, 3)); },
      [](const Operands& o) { return bytesOf(o.a.mul(o.row)); },
      [](const Operands& o) { return bytesOf(o.d.sigmoid()); },
      [](const Operands& o) { return bytesOf(o.h.mul(o.h)); },
      [](const Operands& o) { return bytesOf(o.i.add(o.a)); },
      [](const Operands& o) { return bytesOf(addcmul(o.a, o.b, o.b, 0.5)); },
      [](const Operands& o) { return bytesOf(o.a.clone().relu_()); },
      [](const Operands& o) { return bytesOf(o.a.t().exp()); },
      [](const Operands& o) {
        Tensor out = empty({4, 15}, kFloat);
        return bytesOf(add_out(out, o.a, o.b));
      },
      [](const Operands& o) {
        const Tensor leaf = o.a.clone().requires_grad_();
        return gradients(leaf.mul(o.b).sigmoid(), leaf);
      },
      [](const Operands& o) {
        const Tensor leaf = o.square.clone().requires_grad_();
        return gradients(mm(leaf, o.square).tanh(), leaf);
      },
      [](const Operands& o) {
        const AutocastGuard autocast(DeviceType::CPU, kBFloat16);
        return bytesOf(mm(o.square, o.square));
      },
      [](const Operands& o) { return bytesOf(linear(o.square, o.square)); },
      [](const Operands& o) { return bytesOf(o.a.sum()) + bytesOf(softmax(o.a, 1)); },
      [](const Operands& o) {
        try {
          return bytesOf(o.a.add(o.square));  // of another shape: the message comes through a thunk
        } catch (const Error& e) {
          return std::string(e.what());
        }
      },
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  const Operands operands;
  std::vector<std::string> expected;
  jit::set_enabled(false);
  for (const Call& call : calls()) expected.push_back(call(operands));
  jit::set_enabled(true);
  bool good = true;
  for (int round = 0; round < rounds; ++round) {
    for (size_t n = 0; n < expected.size(); ++n) good &= calls()[n](operands) == expected[n];
    jit::wait_idle();
  }
  const uint64_t before = jit::calls_in_thunks();
  for (size_t n = 0; n < expected.size(); ++n) good &= calls()[n](operands) == expected[n];
  const jit::Stats s = jit::stats();
  std::printf("good=%d available=%d thunks=%d compiled=%d loaded=%d rejected=%d failed=%d\n", good, s.available,
              jit::calls_in_thunks() != before, static_cast<int>(s.compiled), static_cast<int>(s.loaded),
              static_cast<int>(s.cache_rejected), static_cast<int>(s.failed));
  return good ? 0 : 1;
}
