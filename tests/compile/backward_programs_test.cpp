// Random programs that give one result, compiled and differentiated outside: the grads that the plain ones leave, to
// the bit, however the result is used.
#include "tests/programs/each_program.h"
#include "tests/programs/execution.h"
#include "tests/programs/traced.h"

#include <shunt/autograd/autograd.h>
#include <shunt/core/log.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace programs {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

/// What writes in place goes: where it writes into an input, the history is recorded as ever.
Program withoutWrites(Program program) {
  std::erase_if(program.steps, [](const Step& s) { return s.row->in_place; });
  return program;
}

Nodes& graphs() {
  static Nodes of_calls;
  return of_calls;
}

Tensors slotsOf(const Program& program, const Tensors& inputs) {
  const World world;
  Execution execution(inputs, world);
  std::optional<shunt::AutocastGuard> autocast;
  if (program.autocast) autocast.emplace(shunt::kCPU);
  for (const Step& step : program.steps) std::ignore = execution.take(step);
  for (auto& node : execution.takeGraphs()) graphs().push_back(std::move(node));
  return execution.slots();
}

/// The last slot but the inputs that can be differentiated, one that is no view where there is one; -1: none.
int resultOf(const Program& program) {
  const Tensors slots = slotsOf(program, inputsOf(program));
  int view = -1;
  for (size_t i = slots.size(); i-- > program.inputs.size();) {
    const Tensor& t = slots[i];
    if (!t.defined() || !t.requires_grad() || t.is_leaf()) continue;
    const auto* meta = shunt::autograd::get_view_autograd_meta(t);
    if (meta == nullptr) return static_cast<int>(i);
    if (view < 0) view = static_cast<int>(i);
  }
  return view;
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
};
const Use kUses[] = {
    {"a gradient of its own",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in);
       y.backward(weightsFor(y));
     }},
    {"sum()", [](const Function& f, const Tensors& in) { f(in).sum().backward(); }},
    {"a loss, and more of the inputs",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in);
       Tensor loss = (y * weightsFor(y)).sum();
       for (const Tensor& t : differentiable(in)) loss = loss + (t * t).sum().to(loss.dtype());
       loss.backward();
     }},
    {"backward() twice",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in);
       y.backward(weightsFor(y), true);
       y.backward(weightsFor(y));
     }},
    {"two calls in one loss",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in), z = f(in);
       (y * z).sum().backward();
     }},
    {"the gradient's gradient",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in);
       const Tensors leaves = differentiable(in);
       const Tensors first = shunt::autograd::grad({y}, leaves, {weightsFor(y)}, true, true, true);
       Tensor loss;
       for (const Tensor& t : first)
         if (t.defined() && t.requires_grad())
           loss = loss.defined() ? loss + (t * t).sum().to(loss.dtype()) : (t * t).sum();
       if (loss.defined()) loss.backward();
     }},
    {"some inputs only",
     [](const Function& f, const Tensors& in) {
       const Tensor y = f(in), x = differentiable(in)[0];
       x.mutable_grad() = shunt::autograd::grad({y}, {x}, {weightsFor(y)}, {}, false, true)[0];
     }},
    {"arguments of another graph",
     [](const Function& f, const Tensors& in) {
       Tensors made;
       for (const Tensor& t : in) made.push_back(t.requires_grad() ? t * 2 : t);
       const Tensor y = f(made);
       y.backward(weightsFor(y));
     }},
    {"arguments with hooks",
     [](const Function& f, const Tensors& in) {
       for (const Tensor& t : differentiable(in)) t.register_hook([](const Tensor& g) { return g * 3; });
       const Tensor y = f(in);
       y.backward(weightsFor(y));
     }},
};

using Position = std::pair<uint64_t, uint64_t>;

/// `drawn`: where the generator has to be in the end, or what is set to where it is.
Outcome outcomeOf(const Function& f, const Program& program, const Use& use, std::string& error, Position& drawn) {
  const Tensors inputs = inputsOf(program);
  Tensor result;
  shunt::manual_seed(program.seed);
  try {
    use.run([&](const Tensors& in) { return result = f(in); }, inputs);
  } catch (const std::exception& e) {
    error = e.what();
  }
  Tensors slots = inputs;
  slots.push_back(result);
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
  bool writes;
};

struct CompiledBackwards : EachProgram, testing::WithParamInterface<Form> {
  CompiledBackwards() : EachProgram(9127) {}
};

TEST_P(CompiledBackwards, LeaveTheGradsOfPlainOnes) {
  uint64_t compiled = 0, kept = 0;
  const shunt::LogSink before = shunt::set_log_sink([](shunt::LogLevel, const char*) {});
  forEach([&](const Program& program_drawn, const Outcome&) -> std::string {
    const Program program = GetParam().of(program_drawn);
    const int result = resultOf(program);
    if (result < 0) return "";
    const auto f = [&](const Tensors& inputs) { return slotsOf(program, inputs)[static_cast<size_t>(result)]; };
    auto fast = shunt::compile(f, {.max_variants = 32});
    for (int i = 0; i < 3; ++i) {
      const Tensor y = fast(inputsOf(program));
      if (i < 2) continue;
      ++(isCompiled(y) ? compiled : kept);
    }
    for (const Use& use : kUses)
      for (int i = 0; i < 3; ++i) {
        std::string wrong, wrong_too;
        Position drawn;
        const Outcome expected = outcomeOf(f, program, use, wrong, drawn);
        const Outcome got = outcomeOf([&](const Tensors& in) { return fast(in); }, program, use, wrong_too, drawn);
        if (wrong.empty() != wrong_too.empty())
          return shunt::detail::str(use.name, ": expected '", wrong, "', got '", wrong_too, "'\n", fast.explain());
        const std::string d = firstDifference(expected, got, Level::kAll);
        if (!d.empty()) return shunt::detail::str(use.name, ", call ", i, ": ", d, '\n', fast.explain(), fast.plan());
      }
    return "";
  });
  shunt::set_log_sink(before);
  std::cout << compiled << " backward passes were compiled, " << kept << " weren't" << std::endl;
  if (!isOne()) EXPECT_GT(GetParam().writes ? 10 * compiled : compiled, kept);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, CompiledBackwards,
    testing::Values(Form{"WithoutWrites", &withoutWrites, false}, Form{"AsDrawn", [](Program p) { return p; }, true},
                    Form{"ThatDraw", [](Program p) { return withDrawing(withoutWrites(std::move(p))); }, true}),
    [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace programs
