// Random programs that give one result, compiled and differentiated outside: the grads that the plain ones leave, to
// the bit, however the result is used.
#include "src/compile/steps/quick_counts.h"
#include "tests/programs/each_program.h"
#include "tests/programs/execution.h"
#include "tests/programs/traced.h"

#include <shunt/autograd/autograd.h>
#include <shunt/core/log.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <iterator>

namespace programs {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

/// What writes in place goes: where it writes into an input, the history is recorded as ever.
Program withoutWrites(Program program) {
  std::erase_if(program.steps, [](const Step& s) { return s.row->in_place; });
  return program;
}

Nodes& graphs() {
  static Nodes of_calls;
  return of_calls;
}

/// Which steps throw. They are left out: one that has got as far as asking for the node of a view, which makes it,
/// isn't recorded, and so nobody asks then when the graph runs.
std::vector<bool> throwing(const Program& program) {
  const Outcome outcome = run(program, World());
  std::vector<bool> out;
  for (size_t i = 0; i < program.steps.size(); ++i) out.push_back(!outcome.errors[i].empty());
  return out;
}

Tensors slotsOf(const Program& program, const std::vector<bool>& throws, const Tensors& inputs) {
  const World world;
  Execution execution(inputs, world);
  std::optional<shunt::AutocastGuard> autocast;
  if (program.autocast) autocast.emplace(shunt::kCPU);
  for (size_t i = 0; i < program.steps.size(); ++i)
    if (throws[i])
      execution.skip(program.steps[i]);
    else
      std::ignore = execution.take(program.steps[i]);
  for (auto& node : execution.takeGraphs()) graphs().push_back(std::move(node));
  return execution.slots();
}

/// The last `most` slots but the inputs that can be differentiated.
std::vector<size_t> resultsOf(const Program& program, const std::vector<bool>& throws, size_t most) {
  const Tensors slots = slotsOf(program, throws, inputsOf(program));
  std::vector<size_t> out;
  for (size_t i = slots.size(); i-- > program.inputs.size() && out.size() < most;) {
    const Tensor& t = slots[i];
    if (t.defined() && t.requires_grad() && !t.is_leaf()) out.push_back(i);
  }
  return out;
}

Tensor weightsFor(const Tensor& t) {
  shunt::manual_seed(11);
  return shunt::randn(t.sizes()).to(t.dtype());
}

Tensors differentiable(const Tensors& inputs) {
  Tensors out;
  for (const Tensor& t : inputs)
    if (t.requires_grad()) out.push_back(t);
  return out;
}

struct Use {
  const char* name;
  void (*run)(const Function&, const Tensors&);
  bool makes_graphs = false;  // after which a function keeps its history
};
Tensors weightsFor(const Tensors& all) {
  Tensors out;
  for (const Tensor& t : all) out.push_back(weightsFor(t));
  return out;
}

/// Of what can be differentiated among them.
Tensor lossOf(const Tensors& all) {
  Tensor loss;
  for (const Tensor& t : all) {
    if (!t.defined() || !t.requires_grad()) continue;
    const Tensor part = (t * weightsFor(t)).sum().to(shunt::kDouble);
    loss = loss.defined() ? loss + part : part;
  }
  return loss;
}

const Use kUses[] = {
    {"gradients of their own",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in);
       shunt::autograd::backward(y, weightsFor(y));
     }},
    {"sum() of the first", [](const Function& f, const Tensors& in) { f(in)[0].sum().backward(); }},
    {"the last", [](const Function& f, const Tensors& in) { lossOf({f(in).back()}).backward(); }},
    {"gradients in other layouts",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in)[0];
       std::vector<int64_t> sizes = y.sizes().vec(), backwards;
       for (int64_t d = y.dim(); d-- > 0;) backwards.push_back(d);
       std::ranges::reverse(sizes);
       y.backward(weightsFor(shunt::zeros(sizes).to(y.dtype())).permute(backwards), true);
       if (y.dim() == 0) return;
       sizes = y.sizes().vec();
       sizes[0] = 1;
       y.backward(weightsFor(shunt::zeros(sizes).to(y.dtype())).expand(y.sizes()));
     }},
    {"a loss, and more of the inputs",
     [](const Function& f, const Tensors& in) { (lossOf(f(in)) + lossOf(differentiable(in))).backward(); }},
    {"backward() twice",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in);
       shunt::autograd::backward(y, weightsFor(y), true);
       shunt::autograd::backward(y, weightsFor(y));
     }},
    {"two calls in one loss",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in), z = f(in);
       (lossOf(y) * lossOf({z.back()})).backward();
     }},
    {"some inputs only",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in);
       const Tensor x = differentiable(in)[0];
       x.mutable_grad() = shunt::autograd::grad(y, {x}, weightsFor(y), {}, false, true)[0];
     }},
    {"arguments of another graph",
     [](const Function& f, const Tensors& in) {
       Tensors made;
       for (const Tensor& t : in) made.push_back(t.requires_grad() ? t * 2 : t);
       lossOf(f(made)).backward();
     }},
    {"the result, written afterwards",
     [](const Function& f, const Tensors& in) {
       Tensor y = f(in)[0];
       y.mul_(2);
       lossOf({y}).backward();
     }},
    {"arguments with hooks",
     [](const Function& f, const Tensors& in) {
       for (const Tensor& t : differentiable(in)) t.register_hook([](const Tensor& g) { return g * 3; });
       const Tensors y = f(in);
       shunt::autograd::backward(y, weightsFor(y));
     }},
    {"the gradient's gradient",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in);
       const Tensor loss = lossOf(shunt::autograd::grad(y, differentiable(in), weightsFor(y), true, true, true));
       if (loss.defined()) loss.backward();
     },
     true},
    {"gradients of gradients and of the results",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in), x = differentiable(in);
       const Tensors first = shunt::autograd::grad({lossOf(y)}, x, {}, true, true, true);
       const Tensor loss = lossOf(first), of_results = lossOf(y);
       const Tensor both = loss.defined() ? loss + of_results : of_results;
       const Tensor third = lossOf(shunt::autograd::grad({both}, x, {}, true, true, true));
       (third.defined() ? third + both : both).backward();
     },
     true},
    {"gradients at results with hooks",
     [](const Function& f, const Tensors& in) {
       Tensors ends = differentiable(in);
       const Tensors y = f(in);
       for (const Tensor& t : y) {
         if (!t.defined() || !t.requires_grad()) continue;
         t.register_hook([](const Tensor& g) { return g * 3; });
         ends.push_back(t);
       }
       const Tensor loss = lossOf(shunt::autograd::grad({lossOf(y)}, ends, {}, true, true, true));
       (loss.defined() ? loss + lossOf(y) : lossOf(y)).backward();
     },
     true},
    {"gradients' graphs of two calls",
     [](const Function& f, const Tensors& in) {
       const Tensors y = f(in), z = f(in), x = differentiable(in);
       const Tensor loss = lossOf(shunt::autograd::grad({lossOf(y) * lossOf({z.back()})}, x, {}, true, true, true));
       (loss.defined() ? loss * lossOf(z) : lossOf(y)).backward();
     },
     true},
};

using Position = std::pair<uint64_t, uint64_t>;

/// `drawn`: where the generator has to be in the end, or what is set to where it is.
Outcome outcomeOf(const Function& f, const Program& program, const Use& use, std::string& error, Position& drawn) {
  const Tensors inputs = inputsOf(program);
  Tensors results;
  shunt::manual_seed(program.seed);
  try {
    use.run([&](const Tensors& in) { return results = f(in); }, inputs);
  } catch (const std::exception& e) {
    error = e.what();
  }
  Tensors slots = inputs;
  slots.insert(slots.end(), results.begin(), results.end());
  Outcome out;
  readSlots(slots, inputs.size(), World(), out);
  const Position position = shunt::default_generator()->position();
  if (error.empty() && drawn != Position() && position != drawn) error = "draws other numbers";
  drawn = position;
  // A grad may be a sum in the engine's hands: how often that was written to depends on who holds its parts.
  for (SlotState& s : out.grads) s.version = 0;
  for (SlotState& s : out.slots) s.grad_fn.clear();  // CompiledFunctionBackward, or the last operator's
  releaseGraphs(slots);
  releaseGraphs(std::move(graphs()));
  graphs().clear();
  return out;
}

std::string errorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

bool isCompiled(const Tensor& t) {
  try {
    return t.grad_fn() && t.grad_fn()->name() == "CompiledFunctionBackward";
  } catch (const std::exception&) {  // of a view that can't be followed
    return false;
  }
}

struct Form {
  const char* name;
  Program (*of)(Program);
  size_t results;
  bool few;                // passes are compiled
  bool gradients = false;  // of these, with create_graph, are the function's results
};

struct CompiledBackwards : EachProgram, testing::WithParamInterface<Form> {
  CompiledBackwards() : EachProgram(9127) {}
};

TEST_P(CompiledBackwards, LeaveTheGradsOfPlainOnes) {
  uint64_t compiled = 0, kept = 0;
  const uint64_t sums_before = shunt::compiled::quickCounts().sums;
  const shunt::LogSink before = shunt::set_log_sink([](shunt::LogLevel, const char*) {});
  forEach([&](const Program& program_drawn, const Outcome&) -> std::string {
    // Each form has every other program, in a landing.
    if (!isOne() && !shunt::test::longRun() && program_drawn.seed % 2 != (GetParam().few ? 1u : 0u)) return "";
    const Program program = GetParam().of(program_drawn);
    const std::vector<bool> throws = throwing(program);
    const std::vector<size_t> results = resultsOf(program, throws, GetParam().results);
    if (results.empty()) return "";
    const auto resultsFor = [&](const Tensors& inputs) {
      const Tensors slots = slotsOf(program, throws, inputs);
      Tensors out;
      for (const size_t i : results) out.push_back(slots[i]);
      return out;
    };
    const Tensors weights = weightsFor(resultsFor(inputsOf(program)));
    const auto f = [&](const Tensors& inputs) {
      Tensors out = resultsFor(inputs);
      if (!GetParam().gradients) return out;
      Tensors grads = shunt::autograd::grad(out, differentiable(inputs), weights, true, true, true);
      std::erase_if(grads, [](const Tensor& t) { return !t.defined() || !t.requires_grad() || t.is_leaf(); });
      // Alone, or with what they are gradients of.
      if (grads.empty() || program.seed % 2 == 0) std::ranges::copy(out, std::back_inserter(grads));
      return grads;
    };
    const auto wasWrong = [](const std::string& explained) {
      return explained.find("was checked") != std::string::npos;
    };
    if (GetParam().gradients && !errorOf([&] { f(inputsOf(program)); }).empty()) return "";
    auto fast = shunt::compile(f, {.max_variants = 32});
    for (int i = 0; i < 3; ++i) {
      const Tensor y = fast(inputsOf(program))[0];
      if (i < 2) continue;
      ++(isCompiled(y) ? compiled : kept);
    }
    for (const Use& use : kUses) {
      // In a landing each program has one of these.
      if (use.makes_graphs && !isOne() && !shunt::test::longRun() &&
          static_cast<size_t>(&use - kUses) % 4 != program.seed / 2 % 4)
        continue;
      auto fresh = shunt::compile(f, {.max_variants = 32});
      for (int i = 0; use.makes_graphs && i < 3; ++i) fresh(inputsOf(program));
      auto& function = use.makes_graphs ? fresh : fast;
      for (int i = 0; i < 2; ++i) {
        std::string wrong, wrong_too;
        Position drawn;
        const Outcome expected = outcomeOf(f, program, use, wrong, drawn);
        const Outcome got = outcomeOf([&](const Tensors& in) { return function(in); }, program, use, wrong_too, drawn);
        if (wrong.empty() != wrong_too.empty())
          return shunt::detail::str(use.name, ": expected '", wrong, "', got '", wrong_too, "'\n", function.explain());
        const std::string d = firstDifference(expected, got, Level::kAll);
        if (!d.empty())
          return shunt::detail::str(use.name, ", call ", i, ": ", d, '\n', function.explain(), function.plan());
      }
      if (wasWrong(function.explain())) return shunt::detail::str(use.name, ": ", function.explain(), function.plan());
    }
    return "";
  });
  shunt::set_log_sink(before);
  const uint64_t sums = shunt::compiled::quickCounts().sums - sums_before;
  std::cout << compiled << " backward passes were compiled, " << kept << " weren't; runs that added: " << sums
            << std::endl;
  if (!isOne()) EXPECT_GT(sums, compiled / 10);
  // The first runs' results have eager code's history where they are checked.
  const bool is_checked = shunt::default_compile_check() == shunt::CompileCheck::kFirst;
  if (!isOne() && !is_checked) EXPECT_GT(GetParam().few ? 10 * compiled : compiled, kept);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, CompiledBackwards,
    testing::Values(Form{"WithoutWrites", &withoutWrites, 1, false}, Form{"OfTwoResults", &withoutWrites, 2, true},
                    Form{"OfSeveralResults", &withoutWrites, 4, true},
                    Form{"AsDrawn", [](Program p) { return p; }, 1, true},
                    Form{"AsDrawnOfSeveralResults", [](Program p) { return p; }, 3, true},
                    Form{"ThatDraw", [](Program p) { return withDrawing(withoutWrites(std::move(p))); }, 1, true},
                    Form{"OfGradients", &withoutWrites, 2, true, true},
                    Form{"OfGradientsAsDrawn", [](Program p) { return p; }, 2, true, true}),
    [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace programs
