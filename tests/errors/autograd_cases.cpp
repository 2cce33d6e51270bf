// What a graph does not allow, and inference tensors outside their mode.
#include "tests/errors/bed.h"

namespace shunt::testing {

static std::vector<BadInput> inplaceOnGraphCases() {
  return {
      {"leaf: add_", {"add_", "leaf", "requires grad", "in-place", "NoGradGuard"}, [](Bed& bed) { bed.leaf.add_(1); }},
      {"leaf: fill_", {"fill_", "leaf", "requires grad"}, [](Bed& bed) { bed.leaf.fill_(1); }},
      {"leaf: zero_", {"zero_", "leaf", "requires grad"}, [](Bed& bed) { bed.leaf.zero_(); }},
      {"leaf: copy_", {"copy_", "leaf", "requires grad"}, [](Bed& bed) { bed.leaf.copy_(bed.a); }},
      {"leaf: uniform_", {"uniform_", "leaf", "requires grad"}, [](Bed& bed) { bed.leaf.uniform_(); }},
      {"leaf: view of one",
       {"mul_", "view", "leaf", "requires grad"},
       [](Bed& bed) { bed.x.mul_(2); },
       [](Bed& bed) { bed.x = bed.leaf.select(0, 0); }},
      {"leaf: detach_ of a view",
       {"detach_", "view"},
       [](Bed& bed) { bed.x.detach_(); },
       [](Bed& bed) { bed.x = bed.leaf.select(0, 0); }},
      {"leaf: floor_divide_", {"floor_divide_", "leaf", "requires grad"}, [](Bed& bed) { bed.leaf.floor_divide_(2); }},
      {"views: one of unbind's",
       {"add_", "Output 1 of UnbindBackward0", "multiple views", "out-of-place"},
       [](Bed& bed) { bed.x.add_(1); },
       [](Bed& bed) { bed.x = bed.graph.unbind()[1]; }},
      {"views: one of split's",
       {"mul_", "Output 0 of SplitBackward0", "multiple views"},
       [](Bed& bed) { bed.x.mul_(2); },
       [](Bed& bed) { bed.x = bed.graph.split(1, 1)[0]; }},
      {"views: a view of one of split's",
       {"mul_", "Output 0 of SelectBackward0", "multiple views"},
       [](Bed& bed) { bed.x.mul_(2); },
       [](Bed& bed) { bed.x = bed.graph.split(1, 1)[0].select(1, 0); }},
      {"views: one of split_with_sizes'",
       {"zero_", "Output 1 of SplitWithSizesBackward0", "multiple views"},
       [](Bed& bed) { bed.x.zero_(); },
       [](Bed& bed) { bed.x = bed.graph.split_with_sizes({1, 2}, 1)[1]; }},
      {"view: made in no_grad",
       {"add_", "view", "no_grad"},
       [](Bed& bed) { bed.x.add_(bed.y); },
       [](Bed& bed) {
         bed.y = bed.graph.select(0, 0);
         NoGradGuard off;
         bed.x = bed.leaf.select(0, 0);
       }},
      {"requires_grad: of longs",
       {"floating point", "require gradients", "Long"},
       [](Bed& bed) { bed.longs.requires_grad_(); }},
      {"requires_grad: a factory of longs",
       {"floating point", "require gradients", "Long"},
       [](Bed&) { shunt::zeros({2}, TensorOptions(kLong).requires_grad(true)); }},
      {"requires_grad: off on a result",
       {"requires_grad", "leaf", "detach()"},
       [](Bed& bed) { bed.graph.requires_grad_(false); }},
      {"retain_grad: without grad", {"retain_grad", "requires_grad"}, [](Bed& bed) { bed.a.retain_grad(); }},
      {"register_hook: without grad",
       {"hook", "require", "grad"},
       [](Bed& bed) { bed.a.register_hook([](const Tensor& g) { return g; }); }},
  };
}

static std::vector<BadInput> backwardCases() {
  return {
      {"backward: of six elements", {"scalar", "[2, 3]", "pass"}, [](Bed& bed) { bed.graph.backward(); }},
      {"backward: without a graph", {"does not require grad", "grad_fn"}, [](Bed& bed) { bed.scalar.backward(); }},
      {"backward: undefined", {"undefined"}, [](Bed& bed) { bed.undefined.backward(); }},
      {"backward: shape of the gradient",
       {"grad_output[0]", "[2, 4]", "[2, 3]"},
       [](Bed& bed) { bed.graph.backward(bed.b); }},
      {"backward: count of gradients",
       {"1 tensors", "2 gradients"},
       [](Bed& bed) { autograd::backward({bed.graph}, {bed.a, bed.a}); }},
      {"backward: twice",
       {"second time", "retain_graph"},
       [](Bed& bed) { bed.x.backward(); },
       [](Bed& bed) {
         bed.x = bed.graph.sum();
         bed.x.backward();
       }},
      {"backward: twice through exp",
       {"second time", "ExpBackward0", "retain_graph"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.leaf.exp();
         bed.x.backward(bed.a);
       }},
      {"backward: saved operand changed",
       {"[Float [2, 3]]", "modified by an inplace operation", "version 1", "expected version 0"},
       [](Bed& bed) { bed.y.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.a.clone();
         bed.y = bed.leaf * bed.x;
         bed.x.add_(1);
       }},
      {"backward: saved result changed",
       {"ExpBackward0", "modified by an inplace operation", "version 1", "expected version 0"},
       [](Bed& bed) { bed.y.backward(bed.a); },
       [](Bed& bed) {
         bed.y = bed.leaf.exp();
         bed.x = bed.y.detach();
         bed.x.mul_(2);
       }},
      {"backward: saved matrix changed",
       {"[Float [3, 3]]", "modified by an inplace operation", "version 1"},
       [](Bed& bed) { bed.y.backward(bed.a); },
       [](Bed& bed) {
         bed.y = bed.leaf.mm(bed.square);
         bed.square.zero_();
       }},
      {"backward: hook of another shape",
       {"hook", "register_hook", "[4]", "[2, 3]"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.leaf.exp();
         const Tensor other = bed.vec4;
         bed.leaf.register_hook([other](const Tensor&) { return other; });
       }},
      {"backward: hook of another shape on a result",
       {"hook", "register_hook", "[4]", "[2, 3]"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.leaf.exp();
         const Tensor other = bed.vec4;
         bed.x.register_hook([other](const Tensor&) { return other; });
       }},
      {"backward: twice through cat",
       {"second time", "IndexSelectBackward0", "retain_graph"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.leaf.index_select(0, shunt::arange(2));
         bed.x.backward(bed.a);
       }},
      {"backward: through floor_divide",
       {"derivative for aten::floor_divide is not implemented"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) { bed.x = bed.leaf.floor_divide(bed.leaf.detach() + 1); }},
      {"backward: through floor_divide by a number",
       {"derivative for aten::floor_divide is not implemented"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) { bed.x = bed.leaf.floor_divide(2); }},
      {"backward: through floor_divide_",
       {"derivative for aten::floor_divide_ is not implemented"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.leaf.clone();
         bed.x.floor_divide_(2);
       }},
      {"backward: through randint_like",
       {"derivative for aten::randint_like is not implemented"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         manual_seed(7);
         bed.x = shunt::randint_like(bed.leaf, 5);
         manual_seed(7);
       }},
      {"grad: of a class's weight",
       {"'weight'", "nll_loss_forward", "derivative"},
       [](Bed& bed) { shunt::nll_loss(bed.a, bed.y, bed.x); },
       [](Bed& bed) {
         bed.y = shunt::zeros({2}, kLong);
         bed.x = counted({3}).requires_grad_();
       }},
      {"backward: input not in the graph's leaves",
       {"require grad"},
       [](Bed& bed) { autograd::backward({bed.graph}, {bed.a}, {}, false, {bed.a}); }},
      {"grad: without inputs", {"grad", "inputs"}, [](Bed& bed) { autograd::grad({bed.graph.sum()}, {}); }},
      {"grad: of a tensor without grad",
       {"does not require grad"},
       [](Bed& bed) { autograd::grad({bed.graph.sum()}, {bed.a}); }},
      {"grad: unused input",
       {"not have been used in the graph", "allow_unused"},
       [](Bed& bed) { autograd::grad({bed.graph.sum()}, {bed.x}); },
       [](Bed& bed) { bed.x = counted({2}).requires_grad_(); }},
      {"grad: undefined output", {"undefined"}, [](Bed& bed) { autograd::grad({bed.undefined}, {bed.leaf}); }},
      {"set_grad: of another shape",
       {"add_", "[2, 4]", "[2, 3]"},
       [](Bed& bed) { bed.x.backward(bed.a); },
       [](Bed& bed) {
         bed.x = bed.leaf.exp();
         bed.leaf.mutable_grad() = bed.b.clone();
       }},
  };
}

static std::vector<BadInput> inferenceCases() {
  return {
      {"inference: add_ outside",
       {"add_", "inference tensor", "InferenceMode", "lone"},
       [](Bed& bed) { bed.inference.add_(1); }},
      {"inference: saved for backward",
       {"Inference tensors cannot be saved for backward", "lone"},
       [](Bed& bed) { bed.leaf.mul(bed.inference); }},
      {"inference: requires_grad_",
       {"requires_grad", "nference", "lone"},
       [](Bed& bed) { bed.inference.requires_grad_(); }},
      {"inference: version", {"nference", "version"}, [](Bed& bed) { bed.inference._version(); }},
      {"inference: view, then in-place", {"add_", "nference"}, [](Bed& bed) { bed.inference.view({6}).add_(1); }},
      {"inference: backward inside",
       {"does not require grad"},
       [](Bed& bed) {
         InferenceMode mode;
         bed.leaf.sum().backward();
       }},
  };
}

std::vector<BadInput> autogradCases() {
  std::vector<BadInput> rows;
  for (auto* table : {&inplaceOnGraphCases, &backwardCases, &inferenceCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
