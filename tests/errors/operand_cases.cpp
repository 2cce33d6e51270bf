// Tensor operands of elementwise operators: undefined, not broadcasting, of the wrong type, written where they must not
// be.
#include "tests/errors/bed.h"

#include <limits>

namespace shunt::testing {

static std::vector<BadInput> undefinedCases() {
  return {
      {"undefined: add self", {"add", "self", "undefined"}, [](Bed& bed) { shunt::add(bed.undefined, bed.a); }},
      {"undefined: add other", {"add", "other", "undefined"}, [](Bed& bed) { bed.a.add(bed.undefined); }},
      {"undefined: both", {"mul", "self", "undefined"}, [](Bed& bed) { shunt::mul(bed.undefined, bed.undefined); }},
      {"undefined: add_ self", {"add_", "self", "undefined"}, [](Bed& bed) { bed.undefined.add_(bed.a); }},
      {"undefined: add_ other", {"add_", "other", "undefined"}, [](Bed& bed) { bed.a.add_(bed.undefined); }},
      {"undefined: out", {"add", "output", "undefined"}, [](Bed& bed) { shunt::add_out(bed.undefined, bed.a, bed.a); }},
      {"undefined: relu", {"relu", "self", "undefined"}, [](Bed& bed) { bed.undefined.relu(); }},
      {"undefined: leaf times undefined", {"mul", "other", "undefined"}, [](Bed& bed) { bed.leaf.mul(bed.undefined); }},
      {"undefined: where condition",
       {"where", "condition", "undefined"},
       [](Bed& bed) { shunt::where(bed.undefined, bed.a, bed.a); }},
      {"undefined: the condition whose places are asked for",
       {"where", "condition", "undefined"},
       [](Bed& bed) { shunt::where(bed.undefined); }},
      {"undefined: clamp without bounds",
       {"clamp", "At least one of 'min' or 'max' must not be None"},
       [](Bed& bed) { bed.a.clamp(std::optional<Scalar>(), std::optional<Scalar>()); }},
      {"undefined: clamp bound",
       {"clamp", "undefined"},
       [](Bed& bed) { bed.a.clamp(std::optional<Tensor>(bed.undefined), std::optional<Tensor>()); }},
      {"undefined: sum", {"sum", "self", "undefined"}, [](Bed& bed) { bed.undefined.sum(); }},
      {"undefined: mm", {"mm", "mat2", "undefined"}, [](Bed& bed) { bed.a.mm(bed.undefined); }},
      {"undefined: matmul", {"matmul", "undefined"}, [](Bed& bed) { bed.a.matmul(bed.undefined); }},
      {"undefined: linear weight",
       {"linear()", "'weight'", "undefined"},
       [](Bed& bed) { shunt::linear(bed.a, bed.undefined); }},
      {"undefined: addmm self",
       {"addmm", "self", "undefined"},
       [](Bed& bed) { shunt::addmm(bed.undefined, bed.a, bed.square); }},
      {"undefined: cat element", {"cat", "undefined"}, [](Bed& bed) { shunt::cat({bed.a, bed.undefined}); }},
      {"undefined: index",
       {"index_select", "index", "undefined"},
       [](Bed& bed) { bed.a.index_select(0, bed.undefined); }},
      {"undefined: softmax", {"softmax", "self", "undefined"}, [](Bed& bed) { bed.undefined.softmax(0); }},
      {"undefined: copy_ source", {"copy_", "src", "undefined"}, [](Bed& bed) { bed.a.copy_(bed.undefined); }},
      {"undefined: view", {"view", "self", "undefined"}, [](Bed& bed) { bed.undefined.view({1}); }},
      {"undefined: mse_loss target",
       {"mse_loss", "target", "undefined"},
       [](Bed& bed) { shunt::mse_loss(bed.a, bed.undefined); }},
      {"undefined: nll_loss target",
       {"nll_loss", "target", "undefined"},
       [](Bed& bed) { shunt::nll_loss(bed.a, bed.undefined); }},
      {"undefined: zeros_like",
       {"zeros_like", "self", "undefined"},
       [](Bed& bed) { shunt::zeros_like(bed.undefined); }},
      {"undefined: to", {"to", "undefined"}, [](Bed& bed) { bed.undefined.to(kDouble); }},
      {"undefined: sizes", {"undefined"}, [](Bed& bed) { bed.undefined.sizes(); }},
      {"undefined: item", {"undefined"}, [](Bed& bed) { bed.undefined.item(); }},
      {"undefined: data_ptr", {"undefined"}, [](Bed& bed) { bed.undefined.data_ptr<float>(); }},
      {"undefined: requires_grad_", {"undefined"}, [](Bed& bed) { bed.undefined.requires_grad_(); }},
  };
}

static std::vector<BadInput> broadcastCases() {
  const std::vector<std::string> both = {"tensor a (3)", "tensor b (4)", "dimension 1", "[2, 3]", "[2, 4]"};
  const auto with = [&](const char* name) {
    auto parts = both;
    parts.push_back(name);
    return parts;
  };
  return {
      {"broadcast: add", with("add"), [](Bed& bed) { bed.a.add(bed.b); }},
      {"broadcast: mul of a leaf", with("mul"), [](Bed& bed) { bed.leaf.mul(bed.b); }},
      {"broadcast: fewer dims",
       {"eq", "tensor a (3)", "tensor b (4)", "dimension 1", "[2, 3]", "[4]"},
       [](Bed& bed) { bed.a.eq(bed.vec4); }},
      {"broadcast: first dimension",
       {"sub", "tensor a (2)", "tensor b (3)", "dimension 0", "[2, 3]", "[3, 3]"},
       [](Bed& bed) { bed.a - bed.square; }},
      {"broadcast: where",
       {"where", "(3)", "(4)", "dimension 1", "[2, 3]", "[2, 4]"},
       [](Bed& bed) { shunt::where(bed.bools, bed.a, bed.b); }},
      {"broadcast: addcmul", {"addcmul", "(3)", "(4)", "dimension 1"}, [](Bed& bed) { bed.a.addcmul(bed.a, bed.b); }},
      {"broadcast: lerp", {"lerp", "(3)", "(4)", "dimension 1"}, [](Bed& bed) { bed.a.lerp(bed.b, 0.5); }},
      {"broadcast: add_", with("add_"), [](Bed& bed) { bed.a.add_(bed.b); }},
      {"broadcast: in-place grows",
       {"add_", "[3]", "[2, 3]"},
       [](Bed& bed) { bed.x.add_(bed.a); },
       [](Bed& bed) { bed.x = counted({3}); }},
      {"broadcast: zero against three", {"add", "(0)", "(2)", "dimension 0"}, [](Bed& bed) { bed.empty + bed.a; }},
      {"broadcast: mse_loss",
       {"mse_loss", "(3)", "(4)", "dimension 1"},
       [](Bed& bed) { shunt::mse_loss(bed.a, bed.b); }},
      {"broadcast: copy_",
       {"copy_", "(3)", "(4)", "dimension 1", "[2, 3]", "[2, 4]"},
       [](Bed& bed) { bed.a.copy_(bed.b); }},
      {"broadcast: masked_fill",
       {"masked_fill", "(4)", "(3)", "dimension 1"},
       [](Bed& bed) { bed.b.masked_fill(bed.bools, 1); }},
  };
}

static std::vector<BadInput> outputCases() {
  return {
      {"out: long for a float result",
       {"add", "Float", "Long"},
       [](Bed& bed) { shunt::add_out(bed.longs, bed.a, bed.a); }},
      {"out: bool for a float result", {"exp", "Float", "Bool"}, [](Bed& bed) { shunt::exp_out(bed.bools, bed.a); }},
      {"out: int for a true division",
       {"div", "Float", "Long"},
       [](Bed& bed) { shunt::div_out(bed.longs, bed.longs, bed.longs); }},
      {"out: mm of another type",
       {"mm", "Float", "Double"},
       [](Bed& bed) { shunt::mm_out(bed.doubles, bed.a, bed.square); }},
      {"out: mean into longs", {"mean", "Long"}, [](Bed& bed) { shunt::mean_out(bed.longs, bed.a, IntArrayRef({0})); }},
      {"out: argmax", {"argmax", "Long", "Float"}, [](Bed& bed) { shunt::argmax_out(bed.a, bed.square, 0); }},
      {"out: all of another type",
       {"all", "bool tensor for result", "Float"},
       [](Bed& bed) { shunt::all_out(bed.a, bed.bools); }},
      {"out: mean of longs",
       {"mean", "Input dtype", "Long"},
       [](Bed& bed) { shunt::mean_out(bed.a, bed.longs, IntArrayRef({0})); }},
      {"out: pow of another type",
       {"pow", "Found dtype Double but expected Float"},
       [](Bed& bed) { shunt::pow_out(bed.doubles, bed.a, 2); }},
      {"out: square of another type",
       {"pow", "Found dtype Double but expected Float"},
       [](Bed& bed) { shunt::square_out(bed.doubles, bed.a); }},
      {"out: silu of another type",
       {"silu", "Found dtype Double but expected Float"},
       [](Bed& bed) { shunt::silu_out(bed.doubles, bed.a); }},
      {"out: arange overlaps itself",
       {"arange", "written-to", "clone()"},
       [](Bed& bed) { shunt::arange_out(bed.expanded, 6); }},
      {"out: linspace overlaps itself",
       {"linspace", "written-to", "clone()"},
       [](Bed& bed) { shunt::linspace_out(bed.expanded, 0, 1, 6); }},
      {"out: stack overlaps itself",
       {"stack", "written-to", "clone()"},
       [](Bed& bed) { shunt::stack_out(bed.expanded, {bed.y, bed.y}); },
       [](Bed& bed) { bed.y = counted({3}); }},
      {"out: cat", {"cat", "Long"}, [](Bed& bed) { shunt::cat_out(bed.longs, {bed.a, bed.a}); }},
      {"out: partly an input",
       {"add", "written-to", "clone()"},
       [](Bed& bed) { shunt::add_out(bed.x, bed.y, bed.y); },
       [](Bed& bed) {
         bed.z = counted({5});
         bed.x = bed.z.slice(0, 0, 4);
         bed.y = bed.z.slice(0, 1, 5);
       }},
      {"out: overlaps itself",
       {"add", "written-to", "clone()"},
       [](Bed& bed) { shunt::add_out(bed.expanded, bed.a, bed.a); }},
      {"out: memory of others that is too small",
       {"add", "resize"},
       [](Bed& bed) { shunt::add_out(bed.x, bed.a, bed.a); },
       [](Bed& bed) { bed.x = shunt::from_blob(bed.foreign.data.data(), {2}); }},
      {"out: requires grad",
       {"add", "out=", "requires grad"},
       [](Bed& bed) { shunt::add_out(bed.leaf, bed.a, bed.a); }},
      {"out: linear's bias requires grad",
       {"linear", "out=", "requires grad"},
       [](Bed&) {
         shunt::Tensor out = shunt::empty({2, 3, 4});
         shunt::linear_out(out, shunt::ones({2, 3, 3}), shunt::ones({4, 3}), shunt::ones({4}).requires_grad_());
       }},
      {"out: an input requires grad",
       {"add", "out=", "requires grad"},
       [](Bed& bed) { shunt::add_out(bed.a, bed.leaf, bed.leaf); }},
      {"out: another device",
       {"add", "meta", "cpu", "same device"},
       [](Bed& bed) { shunt::add_out(bed.meta, bed.a, bed.a); }},
  };
}

static std::vector<BadInput> inplaceCases() {
  return {
      {"in-place: float into long", {"add_", "Float", "Long"}, [](Bed& bed) { bed.longs.add_(bed.a); }},
      {"in-place: float scalar into long", {"mul_", "Float", "Long"}, [](Bed& bed) { bed.longs.mul_(1.5); }},
      {"in-place: true division of longs", {"div_", "Float", "Long"}, [](Bed& bed) { bed.longs.div_(2); }},
      {"in-place: exp of longs", {"exp_", "Float", "Long"}, [](Bed& bed) { bed.longs.exp_(); }},
      {"in-place: long into bool", {"add_", "Long", "Bool"}, [](Bed& bed) { bed.bools.add_(bed.longs); }},
      {"in-place: overlapping rows", {"add_", "written-to", "clone()"}, [](Bed& bed) { bed.expanded.add_(1); }},
      {"in-place: copy_ to overlapping rows", {"copy_", "clone()"}, [](Bed& bed) { bed.expanded.copy_(bed.a); }},
      {"in-place: partly the other operand",
       {"add_", "clone()"},
       [](Bed& bed) { bed.x.add_(bed.y); },
       [](Bed& bed) {
         bed.z = counted({5});
         bed.x = bed.z.slice(0, 0, 4);
         bed.y = bed.z.slice(0, 1, 5);
       }},
      {"in-place: uniform_ of longs", {"uniform_", "Long"}, [](Bed& bed) { bed.longs.uniform_(); }},
      {"in-place: normal_ of longs", {"normal_", "Long"}, [](Bed& bed) { bed.longs.normal_(); }},
      {"in-place: resize_ of a tensor that requires grad",
       {"resize", "require"},
       [](Bed& bed) { bed.leaf.resize_({1}); }},
      {"in-place: set_data of another type",
       {"set_data", "floating point", "Long"},
       [](Bed& bed) { bed.leaf.set_data(bed.longs); }},
      {"in-place: set_data of another device", {"set_data", "CPU", "Meta"}, [](Bed& bed) { bed.a.set_data(bed.meta); }},
      {"in-place: set_data undefined", {"set_data", "undefined"}, [](Bed& bed) { bed.a.set_data(bed.undefined); }},
      {"in-place: addmm_ of another shape",
       {"addmm", "[2, 4]", "[2, 3]"},
       [](Bed& bed) { bed.b.addmm_(bed.a, bed.square); }},
  };
}

static std::vector<BadInput> valueCases() {
  const double huge = 1e300;
  return {
      {"value: long division by zero",
       {"ZeroDivisionError", "div() of self Long [2, 3], other Long [2, 3]"},
       [](Bed& bed) { bed.longs.div(shunt::zeros_like(bed.longs), "floor"); }},
      {"value: long division by the scalar zero",
       {"ZeroDivisionError", "floor_divide() of self Long [2, 3], other 0"},
       [](Bed& bed) { bed.longs.floor_divide(0); }},
      {"value: long remainder by zero",
       {"ZeroDivisionError", "remainder() of self Long [2, 3], other 0"},
       [](Bed& bed) { bed.longs.remainder(0); }},
      {"value: long fmod by zero",
       {"fmod", "ZeroDivisionError"},
       [](Bed& bed) { bed.longs.fmod(shunt::zeros_like(bed.longs)); }},
      {"value: in-place division by zero",
       {"floor_divide", "ZeroDivisionError"},
       [](Bed& bed) { bed.longs.floor_divide_(shunt::zeros_like(bed.longs)); }},
      {"value: clamp of bools by two bounds",
       {"clamp", "not implemented for 'Bool'"},
       [](Bed& bed) { bed.bools.clamp(std::optional<Tensor>(bed.bools), std::optional<Tensor>(bed.bools)); }},
      {"value: lerp's weight of another type",
       {"lerp", "weight", "Float", "Double"},
       [](Bed& bed) { bed.a.lerp(bed.a, bed.doubles); }},
      {"value: pow's exponent outside the type",
       {"pow", "Char", "300"},
       [](Bed& bed) { bed.longs.to(kChar).pow(300); }},
      {"value: rounding mode",
       {"div", "rounding_mode", "'trunc'", "'floor'", "nearest"},
       [](Bed& bed) { bed.a.div(bed.a, "nearest"); }},
      {"value: bitwise_and of floats", {"bitwise_and", "Float"}, [](Bed& bed) { bed.a.bitwise_and(bed.a); }},
      {"value: bitwise_or of long and float", {"bitwise_or", "Float"}, [](Bed& bed) { bed.longs.bitwise_or(bed.a); }},
      {"value: bitwise_not of floats", {"bitwise_not", "Float"}, [](Bed& bed) { bed.a.bitwise_not(); }},
      {"value: bitwise_xor_ with a float", {"bitwise_xor", "Float"}, [](Bed& bed) { bed.longs.bitwise_xor_(1.5); }},
      {"value: bool minus bool", {"Subtraction", "bool", "logical_xor"}, [](Bed& bed) { bed.bools.sub(bed.bools); }},
      {"value: minus of bool", {"bool", "logical_not"}, [](Bed& bed) { -bed.bools; }},
      {"value: one minus bool", {"bool"}, [](Bed& bed) { Scalar(1) - bed.bools; }},
      {"value: long to a negative power",
       {"pow", "Integers to negative integer powers are not allowed"},
       [](Bed& bed) { bed.longs.pow(-1); }},
      {"value: float alpha for longs", {"alpha", "floating"}, [](Bed& bed) { bed.longs.add(bed.longs, 0.5); }},
      {"value: bool alpha for longs", {"alpha", "Bool"}, [](Bed& bed) { bed.longs.add(bed.longs, true); }},
      {"value: where of a long condition",
       {"where", "condition", "Long"},
       [](Bed& bed) { shunt::where(bed.longs, bed.a, bed.a); }},
      {"value: where of its own operand",
       {"where", "condition", "Float"},
       [](Bed& bed) { shunt::where(bed.a, bed.a, bed.a); }},
      {"value: masked_fill of its own mask",
       {"masked_fill", "mask", "Float"},
       [](Bed& bed) { bed.a.masked_fill(bed.a, 1); }},
      {"value: masked_fill of a long mask",
       {"masked_fill", "mask", "Long"},
       [](Bed& bed) { bed.a.masked_fill(bed.longs, 1); }},
      {"value: lerp of two types", {"lerp", "Float", "Double"}, [](Bed& bed) { bed.a.lerp(bed.doubles, 0.5); }},
      {"value: gelu of longs", {"gelu", "Long"}, [](Bed& bed) { shunt::gelu(bed.longs); }},
      {"value: gelu approximation",
       {"gelu", "approximate", "none", "tanh", "fast"},
       [](Bed& bed) { shunt::gelu(bed.a, "fast"); }},
      {"value: sigmoid of longs into longs",
       {"sigmoid", "Float", "Long"},
       [](Bed& bed) { shunt::sigmoid_out(bed.longs, bed.longs); }},
      {"value: fill_ out of range", {"fill_", "uint8_t", "overflow", "256"}, [](Bed& bed) { bed.bytes.fill_(256); }},
      {"value: fill_ float out of range", {"fill_", "Float", "overflow"}, [huge](Bed& bed) { bed.a.fill_(huge); }},
      {"value: fill_ NaN into longs",
       {"fill_", "int64_t", "nan"},
       [](Bed& bed) { bed.longs.fill_(std::numeric_limits<double>::quiet_NaN()); }},
      {"value: masked_fill out of range",
       {"masked_fill", "uint8_t", "overflow", "300"},
       [](Bed& bed) { bed.bytes.masked_fill(bed.bools, 300); }},
      {"value: byte to a negative power, in place", {"pow_", "negative"}, [](Bed& bed) { bed.bytes.pow_(-1); }},
      {"value: fill_ with a vector", {"fill_", "0-dim", "1 dimension"}, [](Bed& bed) { bed.a.fill_(bed.vec4); }},
      {"value: dropout probability",
       {"dropout", "between 0 and 1", "1.5"},
       [](Bed& bed) { shunt::dropout(bed.a, 1.5, true); }},
  };
}

std::vector<BadInput> operandCases() {
  std::vector<BadInput> rows;
  for (auto* table : {&undefinedCases, &broadcastCases, &outputCases, &inplaceCases, &valueCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
