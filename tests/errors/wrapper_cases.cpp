// Tensor subclasses, functional tensors and fake tensors. Rows make their wrappers from copies of the bed's tensors.
#include "tests/errors/bed.h"

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>

namespace shunt::testing {
namespace {

struct Plain : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override { call_unwrapped<Plain>(op, stack); }
};

struct Declining : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  bool accepts(const OperatorHandle&, const Stack&) const override { return false; }
  void handle(const OperatorHandle&, Stack*) override {}
};

/// Calls the operator on what it was given.
struct Endless : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle& op, Stack* stack) override { op.callBoxed(stack); }
};

struct Returning : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle&, Stack* stack) override { *stack = {3}; }
};

struct Idle : TensorSubclass {
  using TensorSubclass::TensorSubclass;
  void handle(const OperatorHandle&, Stack*) override {}
};

/// Has a shape and nothing inside.
struct Hollow : TensorSubclass {
  Hollow() : TensorSubclass({2, 3}, TensorOptions(kFloat)) {}
  void handle(const OperatorHandle& op, Stack* stack) override {
    call_unwrapped<Hollow>(op, stack, [](const Tensor& t) { return t; });
  }
};

Tensor plain(const Tensor& t) { return wrap<Plain>(t.clone()); }
Tensor functional(const Tensor& t) { return to_functional(t.clone()); }
Tensor fake(const Tensor& t) { return to_fake(t.clone()); }

}  // namespace

static std::vector<BadInput> subclassCases() {
  return {
      {"subclass: of an undefined tensor",
       {"TensorSubclass", "undefined"},
       [](Bed& bed) { wrap<Plain>(bed.undefined); }},
      {"subclass: its data", {"data pointer", "wrapper tensor", "unwrap"}, [](Bed& bed) { plain(bed.a).data_ptr(); }},
      {"subclass: to DLPack", {"data pointer", "wrapper tensor", "unwrap"}, [](Bed& bed) { toDLPack(plain(bed.a)); }},
      {"subclass: shapes inside", {"[2, 3]", "[2, 4]"}, [](Bed& bed) { plain(bed.a).add(plain(bed.b)); }},
      {"subclass: declined",
       {"aten::relu", "self is a Declining", "declined"},
       [](Bed& bed) { wrap<Declining>(bed.a.clone()).relu(); }},
      {"subclass: both declined",
       {"aten::add.Tensor", "self is a Declining, other is a Declining"},
       [](Bed& bed) { wrap<Declining>(bed.a.clone()).add(wrap<Declining>(bed.a.clone())); }},
      {"subclass: calls itself for ever",
       {"aten::relu", "Endless", "unwrap"},
       [](Bed& bed) { wrap<Endless>(bed.a.clone()).relu(); }},
      {"subclass: another type returned",
       {"aten::relu", "the handler of Returning", "expected Tensor, got int"},
       [](Bed& bed) { wrap<Returning>(bed.a.clone()).relu(); }},
      {"subclass: nothing done",
       {"aten::mm", "the handler of Idle", "expected 1, got 2, as many as there are arguments", "callBoxed"},
       [](Bed& bed) { wrap<Idle>(bed.a.clone()).mm(bed.square); }},
      {"subclass: nothing inside",
       {"aten::relu", "Hollow", "without an inner tensor"},
       [](Bed&) { wrap<Hollow>().relu(); }},
      {"subclass: nothing inside to require grad", {"wrapper tensor"}, [](Bed&) { wrap<Hollow>().requires_grad_(); }},
      {"subclass: its key excluded",
       {"aten::relu", "got past its class", "self is a Plain", "excluded on this thread"},
       [](Bed& bed) {
         const Tensor x = plain(bed.a);
         const ExcludeDispatchKeyGuard no_python(DispatchKey::Python);
         x.relu();
       }},
      {"subclass: redispatched to the CPU",
       {"aten::relu"},
       [](Bed& bed) {
         const auto relu = Dispatcher::singleton().findSchemaOrThrow("aten::relu", "").typed<Tensor(const Tensor&)>();
         relu.redispatch(DispatchKeySet(DispatchKey::PythonTLSSnapshot), plain(bed.a));
       }},
      {"subclass: a leaf in place", {"leaf"}, [](Bed& bed) { plain(bed.a).requires_grad_().add_(1); }},
      {"subclass: set_data", {"set_data", "wrapper"}, [](Bed& bed) { plain(bed.a).set_data(bed.a); }},
      {"subclass: set_data of another one", {"set_data", "wrapper"}, [](Bed& bed) { bed.a.set_data(plain(bed.a)); }},
      {"subclass: backward of six elements",
       {"[2, 3]"},
       [](Bed& bed) { (plain(bed.a).requires_grad_() * 2).backward(); }},
      {"subclass: into a plain result, shapes",
       {"add()", "[2, 3]", "[2, 4]"},
       [](Bed& bed) { add_out(bed.y, plain(bed.a), plain(bed.b)); },
       [](Bed& bed) { bed.y = zeros({2, 3}); }},
      {"subclass: functional", {"to_functional"}, [](Bed& bed) { from_functional(plain(bed.a)); }},
      {"subclass: fake", {"from_tensor", "unwrap"}, [](Bed& bed) { to_fake(plain(bed.a)); }},
  };
}

static std::vector<BadInput> functionalCases() {
  return {
      {"functional: of an undefined tensor",
       {"to_functional", "undefined"},
       [](Bed& bed) { to_functional(bed.undefined); }},
      {"functional: of a functional one",
       {"to_functional", "already"},
       [](Bed& bed) { to_functional(functional(bed.a)); }},
      {"functional: from a plain one",
       {"from_functional", "expected a functional tensor", "CPU"},
       [](Bed& bed) { from_functional(bed.a); }},
      {"functional: from undefined",
       {"from_functional", "undefined"},
       [](Bed& bed) { from_functional(bed.undefined); }},
      {"functional: written from one",
       {"aten::add_.Tensor", "'self'", "plain tensor", "to_functional"},
       [](Bed& bed) { bed.a.add_(functional(bed.a)); }},
      {"functional: copied into a plain one",
       {"aten::copy_", "'self'", "plain tensor"},
       [](Bed& bed) { bed.a.copy_(functional(bed.a)); }},
      {"functional: out= of a plain one",
       {"aten::add.out", "'out'", "plain tensor"},
       [](Bed& bed) { add_out(bed.square, functional(bed.a), functional(bed.a)); }},
      {"functional: shapes", {"[2, 3]", "[2, 4]"}, [](Bed& bed) { functional(bed.a).add(functional(bed.b)); }},
      {"functional: shapes in place", {"[2, 3]"}, [](Bed& bed) { functional(bed.vec4).add_(functional(bed.a)); }},
      {"functional: in place of another type",
       {"Float", "Long"},
       [](Bed& bed) { functional(bed.longs).add_(functional(bed.a)); }},
      {"functional: a leaf in place", {"leaf"}, [](Bed& bed) { functional(bed.a).requires_grad_().add_(1); }},
      {"functional: overlapping rows in place",
       {"add_", "more than one element", "clone()"},
       [](Bed& bed) { to_functional(bed.expanded).add_(1); }},
      {"functional: its data",
       {"data pointer", "functional tensor", "from_functional"},
       [](Bed& bed) { functional(bed.a).data_ptr(); }},
      {"functional: to DLPack",
       {"data pointer", "functional tensor", "from_functional"},
       [](Bed& bed) { toDLPack(functional(bed.a)); }},
      {"functional: the function throws",
       {"from inside"},
       [](Bed& bed) {
         functionalize([](const Tensor& x) -> Tensor {
           Tensor(x).add_(1);
           throw Error("from inside");
         })(bed.a);
       }},
  };
}

static std::vector<BadInput> fakeCases() {
  return {
      {"fake: with a real one",
       {"aten::add.Tensor", "'other'", "expected a fake tensor", "got a real one", "to_fake"},
       [](Bed& bed) { fake(bed.a).add(bed.a); }},
      {"fake: into a real one",
       {"aten::add_.Tensor", "'self'", "expected a fake tensor"},
       [](Bed& bed) { bed.a.add_(fake(bed.a)); }},
      {"fake: a real one in the mode",
       {"aten::relu", "'self'", "FakeTensorMode is active", "from_tensor"},
       [](Bed& bed) {
         const FakeTensorMode mode;
         bed.a.relu();
       }},
      {"fake: in a list with a real one",
       {"aten::cat", "'tensors'", "expected a fake tensor"},
       [](Bed& bed) { cat({fake(bed.a), bed.a}); }},
      {"fake: item", {"data-dependent operator", "real tensors"}, [](Bed& bed) { fake(bed.scalar).item(); }},
      {"fake: its data", {"fake"}, [](Bed& bed) { fake(bed.a).data_ptr(); }},
      {"fake: to DLPack", {"toDLPack", "fake"}, [](Bed& bed) { toDLPack(fake(bed.a)); }},
      {"fake: shapes", {"[2, 3]", "[2, 4]"}, [](Bed& bed) { fake(bed.a).add(fake(bed.b)); }},
      {"fake: shapes of a product", {"aten::mm", "2x3 and 2x4"}, [](Bed& bed) { fake(bed.a).mm(fake(bed.b)); }},
      {"fake: types in place", {"Float", "Long"}, [](Bed& bed) { fake(bed.longs).add_(fake(bed.a)); }},
      {"fake: a leaf in place", {"leaf"}, [](Bed& bed) { fake(bed.a).requires_grad_().add_(1); }},
      {"fake: a saved operand changed",
       {"modified by an inplace operation"},
       [](Bed& bed) {
         const Tensor x = fake(bed.a).requires_grad_() * 1, y = x.exp();
         y.add_(1);
         y.sum().backward();
       }},
      {"fake: on two devices", {"cuda"}, [](Bed& bed) { fake(bed.a).to(Device("cuda:0")).add(fake(bed.a)); }},
      {"fake: no Meta kernel",
       {"errs::on_cpu", "Meta kernel", "DispatchKey::Meta, ...)"},
       [](Bed& bed) {
         Dispatcher::singleton()
             .findSchemaOrThrow("errs::on_cpu", "")
             .typed<Tensor(const Tensor&, int64_t)>()
             .call(fake(bed.a), 1);
       }},
      {"fake: backward of six elements", {"[2, 3]"}, [](Bed& bed) { (fake(bed.a).requires_grad_() * 2).backward(); }},
  };
}

std::vector<BadInput> wrapperCases() {
  std::vector<BadInput> rows = subclassCases();
  for (auto* table : {&functionalCases, &fakeCases})
    for (BadInput& row : table()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace shunt::testing
