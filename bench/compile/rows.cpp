#include "bench/compile/rows.h"

#include "bench/compile/twins.h"

#include "examples/digits/data.h"
#include "examples/digits/model.h"

#include <cmath>
#include <memory>

namespace bench {
namespace {

using shunt::Tensor;
using Tensors = std::vector<Tensor>;

constexpr HandBar kLoopBar = {.ratio = 1.15}, kProductBar = {.ratio = 1.25}, kSmallStepBar = {.ratio = 1.6};
constexpr int64_t kTiny = 16, kFewest = 1 << 10;

/// Of loops over n elements: small ones are calls more than arithmetic, and between the two nothing is asked for.
HandBar loopBar(int64_t n, int outputs) {
  if (n <= kTiny) return {.nanoseconds = 40.0 + 20 * (outputs - 1)};
  return n < kFewest ? HandBar() : kLoopBar;
}

Tensors gradsOf(const Tensors& leaves) {
  Tensors out;
  for (const Tensor& p : leaves) out.push_back(p.grad());
  return out;
}

Tensor chain(const Tensors& t) { return shunt::sigmoid(shunt::relu(t[0] * t[1] + t[2])); }

void addChains(std::vector<CompileRow>& out) {
  struct Size {
    const char* name;
    int64_t n;
  };
  constexpr Size kSizes[] = {{"16", 16}, {"1Ki", 1 << 10}, {"64Ki", 1 << 16}, {"4Mi", 1 << 22}};
  for (const int64_t n : {kTiny, kFewest})  // what a call costs at least, with a graph or without
    out.push_back({"a + b " + std::to_string(n),
                   [](const Tensors& t) { return Tensors{t[0] + t[1]}; },
                   {shunt::randn({n}), shunt::randn({n})}});
  for (const Size& s : kSizes) {
    const Tensors in = {shunt::randn({s.n}), shunt::randn({s.n}), shunt::randn({s.n})};
    out.push_back({std::string("sigmoid(relu(a*b+c)) ") + s.name, [](const Tensors& t) { return Tensors{chain(t)}; },
                   in, &twins::chain, loopBar(s.n, 1)});
  }
  for (const Size& s : kSizes) {
    Tensors w = {shunt::randn({s.n}), shunt::randn({s.n}), shunt::randn({s.n})};
    for (Tensor& t : w) t.requires_grad_();
    out.push_back({std::string("the same, forward and backward ") + s.name,
                   [w](const Tensors& t) {
                     for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
                     chain(w).backward(t[0]);
                     return Tensors{};
                   },
                   {shunt::ones({s.n})},
                   [w](const Tensors& t) {
                     twins::chainBackward(w, t[0]);
                     return Tensors{};
                   },
                   loopBar(s.n, 3),
                   [w] { return gradsOf(w); }});
  }
}

/// gelu's approximation, written out: one argument in five places.
Tensor geluOfOperators(const Tensors& t) {
  const Tensor& x = t[0];
  return x * 0.5 * (1 + shunt::tanh((x + x * x * x * 0.044715) * 0.7978845608));
}

/// backward() is the caller's, as in most programs. There is no twin: what it costs besides is the engine's.
void addBackwardOutside(std::vector<CompileRow>& out) {
  struct Case {
    const char* name;
    Tensor (*of)(const Tensors&);
    int64_t n;
  };
  constexpr Case kCases[] = {{"the same, backward outside 1Ki", &chain, 1 << 10},
                             {"the same, backward outside 64Ki", &chain, 1 << 16},
                             {"gelu of operators, backward outside 1Ki", &geluOfOperators, 1 << 10},
                             {"gelu of operators, backward outside 64Ki", &geluOfOperators, 1 << 16}};
  for (const Case& c : kCases) {
    Tensors w = {shunt::randn({c.n}), shunt::randn({c.n}), shunt::randn({c.n})};
    for (Tensor& t : w) t.requires_grad_();
    CompileRow row{c.name, [w, of = c.of](const Tensors&) { return Tensors{of(w)}; }, {shunt::ones({c.n})}};
    row.after = [w](const Tensors& in, const Tensors& results) {
      for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
      results[0].backward(in[0]);
    };
    out.push_back(std::move(row));
  }
}

/// Two heads of one network, each with its loss.
void addHeads(std::vector<CompileRow>& out) {
  Tensors w;
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{64, 16}, {64, 64}, {4, 64}, {1, 64}})
    w.push_back(shunt::randn(sizes).mul_(0.1).requires_grad_());
  CompileRow row{"policy and value, backward outside",
                 [w](const Tensors& t) {
                   const Tensor below = shunt::tanh(shunt::linear(shunt::tanh(shunt::linear(t[0], w[0])), w[1]));
                   return Tensors{shunt::log_softmax(shunt::linear(below, w[2]), -1),
                                  shunt::linear(below, w[3]).squeeze(-1)};
                 },
                 {shunt::randn({16, 16}), shunt::randn({16, 4}), shunt::randn({16})}};
  row.after = [w](const Tensors& in, const Tensors& results) {
    for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
    ((results[0] * in[1]).mean() + shunt::mse_loss(results[1], in[2])).backward();
  };
  out.push_back(std::move(row));
}

void addLayers(std::vector<CompileRow>& out) {
  out.push_back({"gelu(x @ W + b), 32x64x128",
                 [](const Tensors& t) { return Tensors{shunt::gelu(t[0].mm(t[1]) + t[2])}; },
                 {shunt::randn({32, 64}), shunt::randn({64, 128}), shunt::randn({128})},
                 &twins::productBiasGelu,
                 kProductBar});
  out.push_back({"gelu(linear(x, W, b)), 32x64x128",
                 [](const Tensors& t) { return Tensors{shunt::gelu(shunt::linear(t[0], t[1], t[2]))}; },
                 {shunt::randn({32, 64}), shunt::randn({128, 64}), shunt::randn({128})},
                 &twins::linearGelu,
                 kProductBar});
  out.push_back({"layer_norm(x + r) * g + b, [64,256]",
                 [](const Tensors& t) { return Tensors{shunt::layer_norm(t[0] + t[1], {256}) * t[2] + t[3]}; },
                 {shunt::randn({64, 256}), shunt::randn({64, 256}), shunt::randn({256}), shunt::randn({256})},
                 &twins::norm,
                 kLoopBar});
  out.push_back({"softmax(q k^T / s + mask), 64x64",
                 [](const Tensors& t) { return Tensors{shunt::softmax(t[0].mm(t[1].t()) / 8.0 + t[2], -1)}; },
                 {shunt::randn({64, 64}), shunt::randn({64, 64}), shunt::randn({64, 64})},
                 &twins::attention,
                 kProductBar});
}

void addDigits(std::vector<CompileRow>& out) {
  constexpr double kLearningRate = 0.01;
  for (const int64_t batch : {1, 8, 32}) {
    const auto net = std::make_shared<digits::Net>(7);
    const auto optimizer = std::make_shared<digits::SGD>(net->parameters(), kLearningRate);
    out.push_back({"digits step, batch " + std::to_string(batch),
                   [net, optimizer](const Tensors& t) {
                     optimizer->zero_grad();
                     const Tensor loss = shunt::cross_entropy_loss(net->forward(t[0]), t[1]);
                     loss.backward();
                     optimizer->step();
                     return Tensors{loss.detach()};
                   },
                   {shunt::rand({batch, digits::kPixels}), shunt::arange(batch).to(shunt::kLong).remainder(10)},
                   [net](const Tensors& t) { return twins::digitsStep(net->parameters(), t, kLearningRate); },
                   batch == 1 ? kSmallStepBar : kProductBar,
                   [net] {
                     Tensors all = net->parameters();
                     for (const Tensor& grad : gradsOf(net->parameters())) all.push_back(grad);
                     return all;
                   }});
  }
}

/// Without gradients, as a trained network runs.
void addInference(std::vector<CompileRow>& out) {
  const auto net = std::make_shared<digits::Net>(7);
  out.push_back({"digits, softmax without grad, batch 1",
                 [net](const Tensors& t) {
                   const shunt::NoGradGuard no_grad;
                   return Tensors{shunt::softmax(net->forward(t[0]), 1)};
                 },
                 {shunt::rand({1, digits::kPixels})}});
}

/// Products of batches, views, softmax, and their gradients.
void addAttention(std::vector<CompileRow>& out) {
  constexpr int64_t kTokens = 8, kHeads = 4, kEach = 16, kWidth = kHeads * kEach;
  Tensors w;
  for (int i = 0; i < 4; ++i) w.push_back(shunt::randn({kWidth, kWidth}).mul_(0.1).requires_grad_());
  out.push_back(
      {"attention step, 8 tokens of 4 heads",
       [w](const Tensors& t) {
         for (const Tensor& p : w) Tensor(p).mutable_grad() = Tensor();
         const auto heads = [&](int i) {
           return shunt::linear(t[0], w[static_cast<size_t>(i)]).view({kTokens, kHeads, kEach}).transpose(0, 1);
         };
         const Tensor shares = shunt::softmax(heads(0).matmul(heads(1).transpose(1, 2)) * 0.25, -1);
         const Tensor mixed = shares.matmul(heads(2)).transpose(0, 1).reshape({kTokens, kWidth});
         const Tensor loss = shunt::mse_loss(shunt::linear(mixed, w[3]), t[1]);
         loss.backward();
         const shunt::NoGradGuard no_grad;
         for (const Tensor& p : w) Tensor(p).sub_(p.grad(), 0.01);
         return Tensors{loss.detach()};
       },
       {shunt::randn({kTokens, kWidth}), shunt::randn({kTokens, kWidth})}});
  out.back().written = [w] {
    Tensors all = w;
    for (const Tensor& grad : gradsOf(w)) all.push_back(grad);
    return all;
  };
}

// Bias corrections are numbers of the traced step: in both, so that both compute the same.
void addAdam(std::vector<CompileRow>& out) {
  Tensors parameters, mean, square, grads;
  for (int i = 0; i < 20; ++i) {
    const int64_t n = int64_t{16} << (i / 2);
    parameters.push_back(shunt::randn({n}));
    grads.push_back(shunt::randn({n}));
    mean.push_back(shunt::zeros({n}));
    square.push_back(shunt::zeros({n}));
  }
  out.push_back({"Adam over 20 tensors (16 to 8192)",
                 [=](const Tensors& g) {
                   for (size_t i = 0; i < g.size(); ++i) {
                     Tensor m = mean[i], v = square[i], p = parameters[i];
                     m.mul_(0.9).add_(g[i], 0.1);
                     v.mul_(0.999).addcmul_(g[i], g[i], 0.001);
                     p.addcdiv_(m, v.sqrt().div_(0.9).add_(1e-8), -0.001);
                   }
                   return Tensors{};
                 },
                 grads,
                 [=](const Tensors& g) {
                   twins::adamStep(parameters, mean, square, g);
                   return Tensors{};
                 },
                 kLoopBar,
                 [=] {
                   Tensors all = parameters;
                   all.insert(all.end(), mean.begin(), mean.end());
                   all.insert(all.end(), square.begin(), square.end());
                   return all;
                 }});
}

// A step of RK4 for the van der Pol oscillator: 34 operators.
void addPhysics(std::vector<CompileRow>& out) {
  const auto slope = [](const Tensor& x, const Tensor& y) { return y - x * x * y - x; };
  constexpr double kStep = 0.01;
  const auto step = [slope](const Tensors& t) {
    const Tensor &x = t[0], &y = t[1];
    const Tensor a = slope(x, y), x2 = x + y * (kStep / 2), y2 = y + a * (kStep / 2);
    const Tensor b = slope(x2, y2), x3 = x + y2 * (kStep / 2), y3 = y + b * (kStep / 2);
    const Tensor c = slope(x3, y3), x4 = x + y3 * kStep, y4 = y + c * kStep;
    const Tensor d = slope(x4, y4);
    return Tensors{x + (y + y4 + (y2 + y3) * 2) * (kStep / 6), y + (a + d + (b + c) * 2) * (kStep / 6)};
  };
  constexpr std::pair<const char*, int64_t> kSizes[] = {{"16", 16}, {"256", 256}, {"16Ki", 16 << 10}};
  for (const auto& [name, n] : kSizes)
    out.push_back({std::string("van der Pol, RK4, ") + name,
                   step,
                   {shunt::rand({n}), shunt::rand({n})},
                   [](const Tensors& t) { return twins::oscillator(t, kStep); },
                   loopBar(n, 2)});
}

}  // namespace

std::vector<CompileRow> compileRows() {
  std::vector<CompileRow> out;
  addChains(out);
  addBackwardOutside(out);
  addHeads(out);
  addLayers(out);
  addDigits(out);
  addInference(out);
  addAttention(out);
  addAdam(out);
  addPhysics(out);
  return out;
}

}  // namespace bench
