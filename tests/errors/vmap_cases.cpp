// vmap, grad, vjp and jacrev.
#include "tests/errors/bed.h"

#include <shunt/transforms/grad_transforms.h>

namespace shunt::testing {
namespace {

struct Twice : autograd::Function<Twice> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& t) { return t * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) { return {g[0] * 2}; }
};

Tensor same(const Tensor& t) { return t; }
using Dims = std::vector<std::optional<int64_t>>;

/// Runs `f` on the samples of bed.a, tensors of shape [3].
template <class F>
std::function<void(Bed&)> inVmap(F f) {
  return [f](Bed& bed) { vmap([&](const Tensor& t) { return f(bed, t); })(bed.a); };
}

std::vector<BadInput> vmapCalls() {
  return {
      {"vmap: batches of other sizes",
       {"vmap: argument 1", "a batch of 4 samples", "argument 0 has one of 2"},
       [](Bed& bed) { vmap([](const Tensor& x, const Tensor&) { return x; })(bed.a, bed.vec4); }},
      {"vmap: in_dims out of range",
       {"vmap: in_dims[0] is 2", "shape [2, 3]", "[-2, 1]"},
       [](Bed& bed) { vmap(same, {.in_dims = {2}})(bed.a); }},
      {"vmap: in_dims of a tensor without dimensions",
       {"vmap: in_dims[0] is 0", "no dimension to be the batch"},
       [](Bed& bed) { vmap(same)(bed.scalar); }},
      {"vmap: in_dims of a number",
       {"vmap: in_dims[1] is 0", "argument 1 holds no tensor", "nullopt"},
       [](Bed& bed) { vmap([](const Tensor& x, double) { return x; }, {.in_dims = {0, 0}})(bed.a, 1.5); }},
      {"vmap: in_dims of another length",
       {"in_dims has 1 entries", "2 arguments"},
       [](Bed& bed) { vmap([](const Tensor& x, const Tensor&) { return x; }, {.in_dims = {0}})(bed.a, bed.a); }},
      {"vmap: no batch",
       {"no argument has a batch"},
       [](Bed& bed) { vmap(same, {.in_dims = Dims{std::nullopt}})(bed.a); }},
      {"vmap: an undefined argument",
       {"vmap: argument 1", "undefined tensor", "in_dims"},
       [](Bed& bed) { vmap([](const Tensor& x, const Tensor&) { return x; })(bed.a, Tensor()); }},
      {"vmap: out_dims out of range",
       {"out_dims names dimension 2", "shape [3]", "[-2, 1]"},
       [](Bed& bed) { vmap(same, {.out_dims = {2}})(bed.a); }},
      {"vmap: out_dims of another length",
       {"out_dims has 2 dimensions", "returned 1 tensors"},
       [](Bed& bed) { vmap(same, {.out_dims = {0, 0}})(bed.a); }},
      {"vmap: out_dims empty", {"out_dims is empty"}, [](Bed& bed) { vmap(same, {.out_dims = {}})(bed.a); }},
      {"vmap: chunk_size negative", {"chunk_size is -1"}, [](Bed& bed) { vmap(same, {.chunk_size = -1})(bed.a); }},
  };
}

std::vector<BadInput> insideVmap() {
  return {
      {"vmap: item()",
       {"_local_scalar_dense", "item() of a batched tensor", "where"},
       inVmap([](Bed&, const Tensor& t) { return t * t.sum().item<float>(); })},
      {"vmap: the places of a condition",
       {"aten::nonzero", "each sample has another number of them"},
       inVmap([](Bed&, const Tensor& t) { return shunt::where(t.gt(0))[0]; })},
      {"vmap: the place of a number",
       {"aten::nonzero", "each sample has another number of them"},
       inVmap([](Bed&, const Tensor& t) { return shunt::where(t.sum())[0]; })},
      {"vmap: data_ptr", {"data pointer", "vmap"}, inVmap([](Bed&, const Tensor& t) {
         t.data_ptr<float>();
         return t;
       })},
      {"vmap: in place on a tensor without batch",
       {"aten::add_.Tensor", "'self'", "shape [3]", "no batch", "'other'", "2 samples"},
       inVmap([](Bed& bed, const Tensor& t) { return bed.z.add_(t); }),
       [](Bed& bed) { bed.z = counted({3}); }},
      {"vmap: copy_ into a tensor without batch",
       {"aten::copy_", "'self'", "'src'", "no batch"},
       inVmap([](Bed& bed, const Tensor& t) { return bed.z.copy_(t); }),
       [](Bed& bed) { bed.z = counted({3}); }},
      {"vmap: addmm_ into a tensor without batch",
       {"aten::addmm_", "'self'", "'mat1'", "no batch"},
       inVmap([](Bed& bed, const Tensor& t) { return bed.z.addmm_(t.unsqueeze(0), bed.square); }),
       [](Bed& bed) { bed.z = counted({1, 3}); }},
      {"vmap: in place, of more dimensions",
       {"aten::mul_.Tensor", "output with shape [3]", "'other'", "[3, 3]"},
       inVmap([](Bed& bed, const Tensor& t) { return t.clone().mul_(bed.square); })},
      {"vmap: out=",
       {"aten::add.out", "out= form", "'self'"},
       inVmap([](Bed& bed, const Tensor& t) { return add_out(bed.z, t, t); }),
       [](Bed& bed) { bed.z = counted({3}); }},
      {"vmap: random numbers",
       {"aten::rand", "Randomness::kSame", "Randomness::kDifferent"},
       inVmap([](Bed&, const Tensor& t) { return t + rand({3}); })},
      {"vmap: resize_", {"aten::resize_", "'self'", "copy_"}, inVmap([](Bed&, const Tensor& t) {
         return t.clone().resize_({6});
       })},
      {"vmap: a dimension of the sample", {"Dimension out of range", "[-1, 0]", "1"}, inVmap([](Bed&, const Tensor& t) {
         return t.softmax(1);
       })},
      {"vmap: new_empty_strided with fewer strides than sizes",
       {"new_empty_strided", "[2, 3, 4]", "[1]"},
       inVmap([](Bed&, const Tensor& t) { return t.new_empty_strided({2, 3, 4}, std::vector<int64_t>{1}); })},
      {"vmap: new_empty_strided with more strides than sizes",
       {"new_empty_strided", "[2]", "[1, 1]"},
       inVmap([](Bed&, const Tensor& t) { return t.new_empty_strided(std::vector<int64_t>{2}, {1, 1}); })},
      {"vmap: as_strided with fewer strides than sizes", {"as_strided", "stride"}, inVmap([](Bed&, const Tensor& t) {
         return t.as_strided({1, 3}, std::vector<int64_t>{1}, std::nullopt);
       })},
      {"vmap: expand of a new dimension to -1",
       {"-1", "leading, non-existing dimension 0"},
       inVmap([](Bed&, const Tensor& t) { return t.expand({-1, 3}); })},
      {"vmap: select on a sample without dimensions", {"select"}, inVmap([](Bed&, const Tensor& t) {
         return t.sum().select(0, 0);
       })},
      {"vmap: shapes that don't broadcast", {"3", "4"}, inVmap([](Bed& bed, const Tensor& t) { return t + bed.vec4; })},
      {"vmap: products that don't fit", {"cannot be multiplied", "1x3", "4x1"}, inVmap([](Bed& bed, const Tensor& t) {
         return t.unsqueeze(0).mm(bed.vec4.unsqueeze(1));
       })},
      {"vmap: an index out of a sample's range", {"out of range"}, inVmap([](Bed& bed, const Tensor& t) {
         return bed.vec4.index_select(0, t.to(kLong));  // 3, 4, 5 in the second sample
       })},
      {"vmap: a custom function of what requires grad",
       {"shape [3]", "inside vmap", "gradient would be lost", "vmap(grad(f))"},
       [](Bed& bed) { vmap([](const Tensor& t) { return Twice::apply(t); })(bed.leaf); }},
      {"vmap: requires_grad_", {"requires_grad_", "vmap", "shunt::grad"}, inVmap([](Bed&, const Tensor& t) {
         return t.clone().requires_grad_();
       })},
      {"vmap: an operator without rule that returns a number",
       {"errs::returns_int", "isn't a tensor"},
       inVmap([](Bed&, const Tensor& t) {
         Stack stack = {t};
         Dispatcher::singleton().findSchemaOrThrow("errs::returns_int", "").callBoxed(&stack);
         return t;
       })},
      {"vmap: a view operator without rule",
       {"errs::returns_view", "returns a view", "writes to them would be lost", "shunt::register_vmap"},
       inVmap([](Bed&, const Tensor& t) {
         Stack stack = {t};
         Dispatcher::singleton().findSchemaOrThrow("errs::returns_view", "").callBoxed(&stack);
         return stack[0].toTensor();
       })},
      {"vmap: a wrapper that escaped",
       {"aten::add.Scalar", "'self'", "vmap", "has returned"},
       [](Bed& bed) { bed.z.add(1); },
       [](Bed& bed) {
         vmap([&](const Tensor& t) {
           bed.z = t;
           return t;
         })(bed.a);
       }},
      {"vmap: a wrapper that escaped into another vmap",
       {"aten::mul.Tensor", "'other'", "has returned"},
       inVmap([](Bed& bed, const Tensor& t) { return t * bed.z; }),
       [](Bed& bed) {
         vmap([&](const Tensor& t) {
           bed.z = t;
           return t;
         })(bed.a);
       }},
      {"vmap: the function's own error", {"mine"}, inVmap([](Bed&, const Tensor&) -> Tensor { throw Error("mine"); })},
  };
}

std::vector<BadInput> gradCalls() {
  return {
      {"grad: a result with dimensions",
       {"grad: the function has to return a tensor without dimensions", "[2, 3]", "jacrev"},
       [](Bed& bed) { grad(same)(bed.a); }},
      {"grad: an undefined result",
       {"grad", "an undefined one"},
       [](Bed& bed) { grad([](const Tensor&) { return Tensor(); })(bed.a); }},
      {"grad: of whole numbers",
       {"grad: argument 0", "Long", "floating"},
       [](Bed& bed) { grad([](const Tensor& t) { return t.sum(); })(bed.longs); }},
      {"grad: a result of whole numbers",
       {"grad: the function returned a tensor of dtype Long"},
       [](Bed& bed) { grad([](const Tensor& t) { return t.to(kLong).sum(); })(bed.a); }},
      {"grad: argnums out of range",
       {"grad: argnums has 2", "1 arguments", "[-1, 0]"},
       [](Bed& bed) { grad([](const Tensor& t) { return t.sum(); }, {2})(bed.a); }},
      {"grad: argnums of a number",
       {"grad: argument 1 holds no tensor"},
       [](Bed& bed) { grad([](const Tensor& t, double) { return t.sum(); }, {1})(bed.a, 1.0); }},
      {"grad: argnums with one argument twice",
       {"grad: argnums names argument 0 twice"},
       [](Bed& bed) { grad([](const Tensor& t) { return t.sum(); }, {0, -1})(bed.a); }},
      {"grad: argnums empty",
       {"argnums is empty"},
       [](Bed& bed) { grad([](const Tensor& t) { return t.sum(); }, std::vector<int64_t>{})(bed.a); }},
      {"grad: in place on a tensor from outside",
       {"aten::add_.Tensor", "'self'", "from outside of the function", "gradient would be lost"},
       [](Bed& bed) {
         grad([&](const Tensor& t) {
           bed.z.add_(t);
           return t.sum();
         })(bed.a);
       },
       [](Bed& bed) { bed.z = counted({2, 3}); }},
      {"grad: a tensor that escaped",
       {"aten::add.Scalar", "'self'", "grad, vjp or jacrev", "has returned"},
       [](Bed& bed) { bed.z.add(1); },
       [](Bed& bed) {
         grad([&](const Tensor& t) {
           bed.z = t;
           return t.sum();
         })(bed.a);
       }},
      {"vjp: a gradient of another shape",
       {"vjp: the gradient for result 0 has shape [2, 4]", "[2, 3]"},
       [](Bed& bed) { vjp(same, bed.a).second(bed.b); }},
  };
}

}  // namespace

std::vector<BadInput> vmapCases() {
  std::vector<BadInput> all;
  for (auto* cases : {vmapCalls, insideVmap, gradCalls})
    for (BadInput& c : cases()) all.push_back(std::move(c));
  return all;
}

}  // namespace shunt::testing
