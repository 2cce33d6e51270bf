// Dispatch modes, guards, autocast, custom functions and gradient checks.
#include "tests/errors/bed.h"

#include <shunt/autograd/gradcheck.h>

#include <optional>

namespace shunt::testing {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;

/// Does with a call what a row says.
struct Does : DispatchMode {
  using Handler = std::function<void(Does&, const OperatorHandle&, Stack*)>;
  explicit Does(Handler handler) : handler_(std::move(handler)) {}
  std::string name() const override { return "Does"; }
  void handle(const OperatorHandle& op, Stack* stack) override { handler_(*this, op, stack); }
  Handler handler_;
};

struct DoesAtKernel : Does {
  using Does::Does;
  Level level() const override { return Level::kKernel; }
};

/// A call of `run` under a mode that handles it so.
template <class Mode = Does>
std::function<void(Bed&)> under(Does::Handler handler, std::function<void(Bed&)> run) {
  return [handler = std::move(handler), run = std::move(run)](Bed& bed) {
    Mode mode(handler);
    const DispatchModeGuard guard(mode);
    run(bed);
  };
}

void returns(Stack* stack, std::vector<IValue> values) { *stack = std::move(values); }
void add(Bed& bed) { bed.a.add(bed.a); }
void addInPlace(Bed& bed) { bed.a.add_(bed.a); }

template <class Self, auto Forward, auto Backward>
struct Custom : autograd::Function<Self> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) { return Forward(ctx, x); }
  static variable_list backward(AutogradContext* ctx, variable_list grads) { return Backward(ctx, std::move(grads)); }
};
Tensor twice(AutogradContext*, const Tensor& x) { return x * 2; }
variable_list sameGrads(AutogradContext*, variable_list grads) { return grads; }

struct TooManyGrads
    : Custom<TooManyGrads, twice, +[](AutogradContext*, variable_list g) { return variable_list{g[0], g[0]}; }> {};
struct NoGrads : Custom<NoGrads, twice, +[](AutogradContext*, variable_list) { return variable_list(); }> {};
struct WrongShape
    : Custom<WrongShape, twice, +[](AutogradContext*, variable_list g) { return variable_list{g[0].select(1, 0)}; }> {};
struct LongGrads
    : Custom<LongGrads, twice, +[](AutogradContext*, variable_list g) { return variable_list{g[0].to(kLong)}; }> {};
struct DirtyOutsider : Custom<DirtyOutsider,
                              +[](AutogradContext* ctx, const Tensor& x) {
                                Tensor y = x.clone();
                                ctx->mark_dirty({y});
                                return y;
                              },
                              sameGrads> {};
struct DirtyLeaf : Custom<DirtyLeaf,
                          +[](AutogradContext* ctx, const Tensor& x) {
                            ctx->mark_dirty({x});
                            return x;
                          },
                          sameGrads> {};
struct Throws : Custom<Throws,
                       +[](AutogradContext*, const Tensor& x) -> Tensor {
                         throw Error("forward of mine at " + detail::str(x.sizes()));
                       },
                       sameGrads> {};
struct ThrowsBack : Custom<ThrowsBack, twice,
                           +[](AutogradContext*, variable_list) -> variable_list { throw Error("backward of mine"); }> {
};
struct SavesChanged : Custom<SavesChanged,
                             +[](AutogradContext* ctx, const Tensor& x) {
                               ctx->save_for_backward({x});
                               return x * 2;
                             },
                             +[](AutogradContext* ctx, variable_list g) {
                               return variable_list{g[0] * ctx->get_saved_variables()[0]};
                             }> {};
struct TwoInputs : autograd::Function<TwoInputs> {
  static Tensor forward(AutogradContext*, const Tensor& x, double factor) { return x * factor; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0], g[0]}; }
};

template <class F>
void differentiate(Bed& bed) {
  F::apply(bed.graph).sum().backward();
}

}  // namespace

static std::vector<BadInput> dispatchModeCases() {
  return {
      {"mode: re-entered in its own handler",
       {"DispatchModeGuard: Does", "inside its own handler"},
       under(
           [](Does& self, const OperatorHandle& op, Stack* stack) {
             const DispatchModeGuard again(self);
             op.callBoxed(stack);
           },
           add)},
      {"mode: re-entered below another one",
       {"DispatchModeGuard: Does", "inside its own handler"},
       under(
           [](Does& self, const OperatorHandle& op, Stack* stack) {
             Does between([&](Does&, const OperatorHandle&, Stack*) { const DispatchModeGuard again(self); });
             const DispatchModeGuard guard(between);
             op.callBoxed(stack);
           },
           add)},
      {"mode: what its handler throws",
       {"not today"},
       under([](Does&, const OperatorHandle&, Stack*) { throw Error("not today"); }, add)},
      {"mode: an error below it",
       {"add", "[2, 3]", "[2, 4]"},
       under([](Does&, const OperatorHandle& op, Stack* stack) { op.callBoxed(stack); },
             [](Bed& bed) { bed.a.add(bed.b); })},
      {"mode: nothing returned",
       {"aten::add.Tensor", "the handler of Does", "expected 1", "got 0"},
       under([](Does&, const OperatorHandle&, Stack* stack) { stack->clear(); }, add)},
      {"mode: another type returned",
       {"aten::add.Tensor", "the handler of Does", "return 1: expected Tensor, got int"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {3}); }, add)},
      {"mode: nothing done",
       {"aten::sum", "the handler of Does", "expected 1, got 2, as many as there are arguments", "callBoxed"},
       under([](Does&, const OperatorHandle&, Stack*) {}, [](Bed& bed) { bed.a.sum(); })},
      {"mode: a return too many",
       {"aten::add.Tensor", "the handler of Does", "expected 1, got 2"},
       under(
           [](Does&, const OperatorHandle& op, Stack* stack) {
             op.callBoxed(stack);
             stack->emplace_back();
           },
           add)},
      {"mode: None returned, which is an undefined tensor",
       {"aten::add.Tensor", "the handler of Does", "expected Float [2, 3]", "an undefined tensor"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {IValue()}); }, add)},
      {"mode: another shape returned",
       {"aten::add.Tensor", "the handler of Does", "return 1: expected Float [2, 3], got Float [4]"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {zeros({4})}); }, add)},
      {"mode: another dtype returned",
       {"aten::add.Tensor", "the handler of Does", "expected Float [2, 3], got Double [2, 3]"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {zeros({2, 3}, kDouble)}); }, add)},
      {"mode: a gradient lost",
       {"aten::exp", "the handler of Does", "does not require grad as return 1", "DispatchMode::Level::kKernel",
        "results_may_differ"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {zeros({2, 3})}); },
             [](Bed& bed) { bed.leaf.exp(); })},
      {"mode: at kKernel, another shape returned",
       {"aten::add.Tensor", "the handler of Does", "expected Float [2, 3], got Float [4]"},
       under<DoesAtKernel>([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {zeros({4})}); }, add)},
      {"mode: at kKernel, an argument returned",
       {"aten::relu", "the handler of Does", "left an argument as return 1", "clone"},
       under<DoesAtKernel>([](Does&, const OperatorHandle&, Stack*) {}, [](Bed& bed) { bed.leaf.relu(); })},
      {"mode: at kKernel, re-entered in its own handler",
       {"DispatchModeGuard: Does", "inside its own handler"},
       under<DoesAtKernel>(
           [](Does& self, const OperatorHandle& op, Stack* stack) {
             const DispatchModeGuard again(self);
             op.callBoxed(stack);
           },
           add)},
      {"mode: at kKernel, what its handler throws",
       {"not today"},
       under<DoesAtKernel>([](Does&, const OperatorHandle&, Stack*) { throw Error("not today"); }, add)},
      {"mode: one of two results",
       {"aten::max.dim", "expected 2", "got 1"},
       under([](Does&, const OperatorHandle&, Stack* stack) { stack->resize(1); }, [](Bed& bed) { max(bed.a, 0); })},
      {"mode: another tensor of an in-place operator",
       {"aten::add_.Tensor", "return", "another tensor"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {ones({2, 3})}); }, addInPlace)},
      {"mode: another tensor of an out= operator",
       {"aten::add.out", "another tensor"},
       under([](Does&, const OperatorHandle&, Stack* stack) { returns(stack, {ones({2, 3})}); },
             [](Bed& bed) { add_out(bed.a, bed.cube.select(2, 0), bed.cube.select(2, 1)); })},
      {"mode: too few arguments passed on",
       {"aten::add.Tensor", "needs 3 arguments", "got 2"},
       under(
           [](Does&, const OperatorHandle& op, Stack* stack) {
             stack->pop_back();
             op.callBoxed(stack);
           },
           add)},
      {"mode: an argument of another type passed on",
       {"aten::add.Tensor", "'other'", "expected Tensor", "got str"},
       under(
           [](Does&, const OperatorHandle& op, Stack* stack) {
             (*stack)[1] = "text";
             op.callBoxed(stack);
           },
           add)},
      {"mode: not a standard exception's",
       {"aten::relu", "undefined"},
       under([](Does&, const OperatorHandle& op, Stack* stack) { op.callBoxed(stack); },
             [](Bed& bed) { bed.undefined.relu(); })},
      {"mode: a mode's key without a mode",
       {"aten::add.Tensor", "no DispatchMode is active", "DispatchModeGuard"},
       [](Bed& bed) {
         const IncludeDispatchKeyGuard python(DispatchKey::Python);
         bed.a.add(bed.a);
       }},
      {"mode: the key of kKernel without a mode",
       {"aten::add.Tensor", "no DispatchMode at level kKernel is active", "DispatchModeGuard"},
       [](Bed& bed) {
         const IncludeDispatchKeyGuard python(DispatchKey::PythonKernel);
         bed.a.add(bed.a);
       }},
      {"mode: nested, the inner one's error",
       {"inner"},
       under([](Does&, const OperatorHandle&, Stack*) { throw Error("outer"); },
             under([](Does&, const OperatorHandle&, Stack*) { throw Error("inner"); }, add))},
  };
}

static std::vector<BadInput> guardCases() {
  return {
      {"guard: Batched without a level",
       {"aten::add.Tensor", "Batched", "no vmap or grad is running"},
       [](Bed& bed) {
         const IncludeDispatchKeyGuard on(DispatchKey::Batched);
         bed.a.add(bed.a);
       }},
      {"guard: Tracer without kernels",
       {"aten::relu", "Tracer"},
       [](Bed& bed) {
         const IncludeDispatchKeyGuard on(DispatchKey::Tracer);
         bed.a.relu();
       }},
      {"guard: the backend excluded",
       {"aten::relu", "excluded on this thread"},
       [](Bed& bed) {
         const ExcludeDispatchKeyGuard off(DispatchKey::CPU);
         bed.a.relu();
       }},
      {"guard: the backend excluded, of a leaf",
       {"excluded on this thread"},
       [](Bed& bed) {
         const ExcludeDispatchKeyGuard off(DispatchKey::CPU);
         bed.leaf.relu();
       }},
      {"guard: no_grad, then backward",
       {"does not require grad"},
       [](Bed& bed) {
         const NoGradGuard no_grad;
         (bed.leaf * 2).sum().backward();
       }},
      {"guard: below autograd, then backward",
       {"does not require grad"},
       [](Bed& bed) {
         const AutoDispatchBelowAutograd below;
         (bed.leaf * 2).sum().backward();
       }},
      {"guard: inference inside grad",
       {"does not require grad"},
       [](Bed& bed) {
         const EnableGradGuard grad;
         const InferenceMode inference;
         bed.leaf.sum().backward();
       }},
      {"guard: a leaf in place after no_grad",
       {"leaf"},
       [](Bed& bed) {
         {
           const NoGradGuard no_grad;
         }
         bed.leaf.add_(1);
       }},
      {"guard: an inference tensor saved under grad",
       {"Inference tensors cannot be saved for backward"},
       [](Bed& bed) {
         const InferenceMode off(false);
         bed.leaf* bed.inference;
       }},
      {"autocast: double of a reduced type",
       {"Float", "BFloat16"},
       [](Bed& bed) {
         const AutocastGuard guard(kCPU);
         bed.square.mm(bed.square).mm(bed.square.to(kDouble));
       }},
      {"autocast: shapes below it",
       {"aten::mm", "2x3 and 2x4"},
       [](Bed& bed) {
         const AutocastGuard guard(kCPU);
         bed.a.mm(bed.b);
       }},
      {"autocast: shapes of a leaf below it",
       {"aten::mm", "2x3 and 2x4"},
       [](Bed& bed) {
         const AutocastGuard guard(kCPU);
         bed.leaf.mm(bed.b);
       }},
      {"autocast: bool as type", {"BFloat16 and Half", "Bool"}, [](Bed&) { const AutocastGuard guard(kCPU, kBool); }},
      {"autocast: double as type",
       {"BFloat16 and Half", "Double"},
       [](Bed&) { const AutocastGuard guard(kCPU, kDouble); }},
      {"autocast: off, of another type",
       {"BFloat16 and Half", "Float"},
       [](Bed&) { const AutocastGuard guard(kCPU, kFloat, false); }},
      {"autocast: meta", {"autocast", "meta"}, [](Bed&) { const AutocastGuard guard(kMeta); }},
      {"autocast: in a mode's handler",
       {"BFloat16 and Half"},
       under([](Does&, const OperatorHandle&, Stack*) { const AutocastGuard guard(kCPU, kInt); }, add)},
  };
}

static std::vector<BadInput> customFunctionCases() {
  return {
      {"custom: more gradients than inputs",
       {"TooManyGrads", "position 1", "not a Variable"},
       &differentiate<TooManyGrads>},
      {"custom: no gradients",
       {"NoGrads", "incorrect number of gradients", "expected 1", "got 0"},
       &differentiate<NoGrads>},
      {"custom: gradient of another shape", {"WrongShape", "[2]", "[2, 3]"}, &differentiate<WrongShape>},
      {"custom: gradient of another type", {"LongGrads", "index 0", "Long"}, &differentiate<LongGrads>},
      {"custom: gradient for a number",
       {"TwoInputs", "position 1"},
       [](Bed& bed) { TwoInputs::apply(bed.graph, 2.0).sum().backward(); }},
      {"custom: dirty, but no input", {"DirtyOutsider", "mark_dirty", "not an input"}, &differentiate<DirtyOutsider>},
      {"custom: a leaf made dirty", {"leaf", "in-place"}, [](Bed& bed) { DirtyLeaf::apply(bed.leaf); }},
      {"custom: forward throws", {"forward of mine at [2, 3]"}, &differentiate<Throws>},
      {"custom: backward throws", {"backward of mine"}, &differentiate<ThrowsBack>},
      {"custom: saved input changed",
       {"modified by an inplace operation", "version"},
       [](Bed& bed) {
         const Tensor x = bed.leaf * 1, y = SavesChanged::apply(x);
         x.add_(1);
         y.sum().backward();
       }},
      {"custom: backward twice",
       {"second time"},
       [](Bed& bed) {
         const Tensor y = SavesChanged::apply(bed.leaf * 1).sum();
         autograd::grad({y}, {bed.leaf});
         autograd::grad({y}, {bed.leaf});
       }},
      {"custom: undefined input", {"undefined"}, [](Bed& bed) { TooManyGrads::apply(bed.undefined); }},
      {"gradcheck: no input requires grad",
       {"gradcheck: no input requires grad"},
       [](Bed& bed) {
         autograd::gradcheck([](const variable_list& in) { return variable_list{in[0] * 2}; }, {bed.doubles});
       }},
      {"gradcheck: floats",
       {"gradcheck", "float64", "Float"},
       [](Bed& bed) {
         autograd::gradcheck([](const variable_list& in) { return variable_list{in[0] * 2}; }, {bed.leaf});
       }},
      {"gradcheck: output without grad",
       {"gradcheck: no output requires grad"},
       [](Bed& bed) {
         autograd::gradcheck([](const variable_list& in) { return variable_list{in[0].detach()}; }, {bed.x});
       },
       [](Bed& bed) { bed.x = counted({2}, kDouble).requires_grad_(); }},
      {"gradcheck: a wrong gradient",
       {"gradcheck: Jacobian mismatch", "output 0", "input 0"},
       [](Bed& bed) {
         struct Wrong : Custom<Wrong, twice, sameGrads> {};
         autograd::gradcheck([](const variable_list& in) { return variable_list{Wrong::apply(in[0])}; }, {bed.x});
       },
       [](Bed& bed) { bed.x = counted({2}, kDouble).requires_grad_(); }},
  };
}

std::vector<BadInput> modeCases() {
  std::vector<BadInput> rows = dispatchModeCases();
  for (auto* table : {&guardCases, &customFunctionCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
