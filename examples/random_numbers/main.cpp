// Random numbers: seeds, generators, and what the numbers depend on.
//
//   random_numbers [seed | generators | threads | distributions | permutation]
#include <shunt/core/parallel.h>
#include <shunt/shunt.h>

#include "examples/parts.h"

#include <iostream>

namespace {

using examples::show;
using shunt::Generator;
using shunt::Tensor;

void seed() {
  shunt::manual_seed(7);
  const Tensor a = shunt::randn({3}), b = shunt::randn({3});
  shunt::manual_seed(7);
  show(shunt::randn({3}).equal(a) && shunt::randn({3}).equal(b), "the same seed and calls: the same numbers");
  show(!a.equal(b), "each call continues the stream");
}

void generators() {
  shunt::manual_seed(1);
  const Tensor next = shunt::rand({4});
  shunt::manual_seed(1);
  Generator g = shunt::make_generator(42);
  const Tensor a = shunt::rand({4}, g);
  show(shunt::rand({4}).equal(next), "a separate generator doesn't advance the default one");
  g.set_current_seed(42);
  show(shunt::rand({4}, g).equal(a), "set_current_seed restarts a generator");
  const auto position = g->position();
  const Tensor b = shunt::rand({4}, g);
  g->set_position(position);
  show(shunt::rand({4}, g).equal(b), "a position can be kept, and continued from");
}

void threads() {
  const int before = shunt::get_num_threads();
  Tensor many = shunt::empty({1000, 100}), one = shunt::empty({1000, 100}), columns = shunt::empty({100, 1000}).t();
  many.normal_(0, 1, shunt::make_generator(3));
  shunt::set_num_threads(1);
  one.normal_(0, 1, shunt::make_generator(3));
  shunt::set_num_threads(before);
  columns.normal_(0, 1, shunt::make_generator(3));
  show(many.equal(one), "any number of threads: the same numbers");
  show(columns.equal(one), "column-major strides: the same numbers");
}

void distributions() {
  shunt::manual_seed(0);
  const auto near = [](const Tensor& t, double mean) { return std::abs(t.mean().item<double>() - mean) < 0.02; };
  const Tensor uniform = shunt::empty({20000}).uniform_(2, 4), normal = shunt::randn({20000});
  show(near(uniform, 3) && uniform.min().item<float>() >= 2 && uniform.max().item<float>() < 4, "uniform_ in [2, 4)");
  show(near(normal, 0) && near(normal.square(), 1), "randn: mean 0, variance 1");
  show(near(shunt::full({20000}, 0.3).bernoulli(), 0.3), "bernoulli: 30 % are 1");
  const Tensor dice = shunt::randint(1, 7, {20000});
  show(dice.min().item<int64_t>() == 1 && dice.max().item<int64_t>() == 6, "randint(1, 7) is a die");
}

void permutation() {
  const Tensor order = shunt::randperm(100, shunt::make_generator(5));
  show(std::get<0>(order.sort()).equal(shunt::arange(100)), "randperm: each number once");
  show(!order.equal(shunt::arange(100)), "in another order");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::runParts(argc, argv, "random_numbers",
                            {{"seed", seed},
                             {"generators", generators},
                             {"threads", threads},
                             {"distributions", distributions},
                             {"permutation", permutation}});
}
