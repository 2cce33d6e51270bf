// The slot for another language's object on tensors and nodes: who keeps whom alive, and when the object is released.
#include <gtest/gtest.h>

#include "tests/autograd/util.h"

#include <shunt/tensor/foreign_object.h>

#include <thread>

namespace shunt::test {
namespace {

// What a runtime would make for a tensor or a node.
struct Object {
  const TensorImpl* tensor = nullptr;
  const Node* node = nullptr;
  int released = 0;
  int64_t numel_at_release = -1;
  std::string name_at_release;
  bool slot_was_empty = false;
};

void release(void* p) noexcept {
  auto& object = *static_cast<Object*>(p);
  ++object.released;
  if (object.tensor != nullptr) {
    object.numel_at_release = object.tensor->numel();
    object.slot_was_empty = object.tensor->foreign_object() == nullptr;
  }
  if (object.node != nullptr) {
    object.name_at_release = object.node->name();
    object.slot_was_empty = object.node->foreign_object() == nullptr;
  }
}

class ForeignObject : public testing::Test {
 protected:
  ForeignObject() { set_foreign_objects({&release}); }
  ~ForeignObject() override { set_foreign_objects({}); }

  template <class Target>
  static void give(Object& object, const Target& to, bool owned) {
    to.set_foreign_object(&object);
    to.set_owns_foreign_object(owned);
  }
  void giveTensor(const Tensor& t, bool owned) {
    object_.tensor = t.unsafeGetTensorImpl();
    give(object_, *object_.tensor, owned);
  }

  Object object_;
};

TEST_F(ForeignObject, IsWhereItWasPut) {
  const Tensor t = ones({3});
  const TensorImpl& impl = *t.unsafeGetTensorImpl();
  EXPECT_EQ(impl.foreign_object(), nullptr);
  EXPECT_FALSE(impl.owns_foreign_object());
  giveTensor(t, true);
  EXPECT_EQ(impl.foreign_object(), &object_);
  EXPECT_TRUE(impl.owns_foreign_object());
  impl.set_owns_foreign_object(false);
  EXPECT_EQ(impl.foreign_object(), &object_);
  EXPECT_FALSE(impl.owns_foreign_object());
  const Tensor alias = t.detach();
  EXPECT_EQ(alias.unsafeGetTensorImpl()->foreign_object(), nullptr);
  impl.set_foreign_object(nullptr);
}

TEST_F(ForeignObject, ABorrowedOneIsLeftAlone) {
  giveTensor(ones({3}), false);
  EXPECT_EQ(object_.released, 0);
}

TEST_F(ForeignObject, AnOwnedOneIsReleasedWhenTheTensorEnds) {
  std::optional<Tensor> t = ones({3});
  giveTensor(*t, true);
  t.reset();
  EXPECT_EQ(object_.released, 1);
  EXPECT_EQ(object_.numel_at_release, 3);
  EXPECT_TRUE(object_.slot_was_empty);
}

TEST_F(ForeignObject, SoIsThatOfAView) {  // which isn't in a block
  const Tensor base = ones({2, 3});
  giveTensor(base.select(0, 1), true);
  EXPECT_EQ(object_.released, 1);
  EXPECT_EQ(object_.numel_at_release, 3);
}

TEST_F(ForeignObject, SoIsThatOfATensorWhoseStorageLivesOn) {
  std::optional<Tensor> t = ones({4});
  const Tensor alias = t->detach();
  giveTensor(*t, true);
  t.reset();
  EXPECT_EQ(object_.released, 1);
  EXPECT_EQ(object_.numel_at_release, 4);
  EXPECT_EQ(alias.sum().item().toDouble(), 4);
}

TEST_F(ForeignObject, WeakReferencesDontKeepItAndItIsReleasedOnce) {
  std::optional<Tensor> t = ones({4});
  weak_intrusive_ptr<TensorImpl> weak(t->getIntrusivePtr());
  giveTensor(*t, true);
  t.reset();
  EXPECT_EQ(object_.released, 1);
  EXPECT_TRUE(weak.expired());
  weak.reset();
  EXPECT_EQ(object_.released, 1);
}

TEST_F(ForeignObject, OnWhicheverThreadDropsTheTensor) {
  std::optional<Tensor> t = ones({4});
  giveTensor(*t, true);
  std::thread([&] { t.reset(); }).join();
  EXPECT_EQ(object_.released, 1);
}

TEST_F(ForeignObject, IsLeakedWithoutARuntime) {
  set_foreign_objects({});
  giveTensor(ones({4}), true);
  EXPECT_EQ(object_.released, 0);
}

TEST_F(ForeignObject, ANodeHasOneToo) {
  const Tensor x = leaf({1, 2});
  std::optional<Tensor> y = x.mul(2);
  const Node& node = *y->grad_fn();
  EXPECT_EQ(node.foreign_object(), nullptr);
  object_.node = &node;
  give(object_, node, true);
  EXPECT_EQ(node.foreign_object(), &object_);
  EXPECT_TRUE(node.owns_foreign_object());
  y->sum().backward();  // which frees what the node saved, and not the node
  EXPECT_EQ(object_.released, 0);
  y.reset();
  EXPECT_EQ(object_.released, 1);
  EXPECT_EQ(object_.name_at_release, "MulBackward1");
  EXPECT_TRUE(object_.slot_was_empty);
}

TEST_F(ForeignObject, ALeafsAccumulatorWithAWeakReference) {
  std::optional<Tensor> x = leaf({1, 2});
  Tensor y = x->mul(2);
  object_.node = y.grad_fn()->next_edge(0).function.get();
  give(object_, *object_.node, true);
  y = {};
  EXPECT_EQ(object_.released, 1);
  EXPECT_EQ(object_.name_at_release, "AccumulateGrad");
  x.reset();
  EXPECT_EQ(object_.released, 1);
}

// Each node's object holds the node before it, as an attribute of a Python object may.
TEST_F(ForeignObject, ALongChainOfThemEndsWithoutRecursion) {
  struct Holder {
    Tensor held;
  };
  static int holders;
  holders = 0;
  set_foreign_objects({[](void* p) noexcept {
    --holders;
    delete static_cast<Holder*>(p);
  }});
  const Tensor x = leaf({1});
  Tensor last = x.mul(1);
  for (int i = 0; i < 100000; ++i) {
    Tensor next = x.mul(1);
    give(reinterpret_cast<Object&>(*new Holder{std::move(last)}), *next.grad_fn(), true);
    ++holders;
    last = std::move(next);
  }
  last = {};
  EXPECT_EQ(holders, 0);
}

}  // namespace
}  // namespace shunt::test
