// A tensor that has not been computed: operators on it are written down, with shapes from the meta device, and run when
// somebody wants a number. What they were called with may not change until then, and no graph is recorded.
#pragma once

#include <shunt/interpose/tensor_subclass.h>
#include <shunt/shunt.h>

#include <memory>

namespace examples {

/// A call that may have been made.
struct Recorded {
  shunt::OperatorHandle op;
  shunt::Stack stack;  // the arguments, lazy ones among them; when done, the returns
  bool done = false;
  std::vector<int64_t> versions = {};  // of the plain tensors among the arguments, when the call was written down
};

class LazyTensor : public shunt::TensorSubclass {
 public:
  /// The i-th return of a call, counting the tensors; `meta` tells what it looks like.
  LazyTensor(std::shared_ptr<Recorded> call, size_t i, const shunt::Tensor& meta)
      : TensorSubclass(meta.sizes(), shunt::TensorOptions(meta.dtype())), call_(std::move(call)), index_(i) {}
  /// A lazy `t`, to begin with.
  explicit LazyTensor(const shunt::Tensor& t)
      : LazyTensor(record(shunt::Dispatcher::singleton().findSchemaOrThrow("aten::alias"), {t}), 0, t) {
    call_->done = true;
  }

  shunt::Tensor materialize() const {
    SHUNT_CHECK(versionsOf(call_->stack) == call_->versions, "LazyTensor: a tensor that operator ",
                call_->op.operator_name(),
                " was called with has been changed in place since; clone() it before the call");
    if (!call_->done) {
      const shunt::NoGradGuard no_grad;
      unlazy(call_->stack);
      call_->op.callBoxed(&call_->stack);
      call_->done = true;
      call_->versions = versionsOf(call_->stack);  // of the results, from now on
      ++executed;
    }
    std::vector<shunt::Tensor> results;
    shunt::forEachTensor(call_->stack, [&](const shunt::Tensor& t) { results.push_back(t); });
    return results.at(index_);
  }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (op.operator_name().name == "aten::_local_scalar_dense") {
      unlazy(*stack);
      return op.callBoxed(stack);
    }
    for (const shunt::Argument& a : op.schema().arguments())
      SHUNT_CHECK(!a.is_write(), "LazyTensor: operator ", op.operator_name(), " writes to argument ", a.name,
                  "; use its out-of-place form");
    auto call = record(op, *stack);
    shunt::mapTensors(*stack, stack->size(), [](const shunt::Tensor& t) {
      return shunt::empty_strided(t.sizes(), t.strides(), shunt::TensorOptions(t.dtype()).device(shunt::kMeta));
    });
    op.callBoxed(stack);  // shapes and errors now, numbers later
    size_t i = 0;
    shunt::mapTensors(*stack, stack->size(),
                      [&](const shunt::Tensor& meta) { return shunt::wrap<LazyTensor>(call, i++, meta); });
    ++recorded;
  }
  std::string toString() const override { return materialize().toString(); }

  static inline int recorded = 0, executed = 0;

 private:
  static std::shared_ptr<Recorded> record(const shunt::OperatorHandle& op, shunt::Stack stack) {
    shunt::forEachTensor(stack, [&](const shunt::Tensor& t) {
      SHUNT_CHECK(!t.requires_grad() || !shunt::GradMode::is_enabled(), "LazyTensor: operator ", op.operator_name(),
                  " is called with a tensor that requires grad, whose gradient would be lost; detach() it");
    });
    std::vector<int64_t> versions = versionsOf(stack);
    return std::make_shared<Recorded>(Recorded{op, std::move(stack), false, std::move(versions)});
  }
  static std::vector<int64_t> versionsOf(const shunt::Stack& stack) {
    std::vector<int64_t> versions;
    shunt::forEachTensor(stack, [&](const shunt::Tensor& t) {
      if (shunt::wrapper_cast<LazyTensor>(t) == nullptr) versions.push_back(t.is_inference() ? 0 : t._version());
    });
    return versions;
  }
  static void unlazy(shunt::Stack& stack) {
    shunt::mapTensors(stack, stack.size(), [](const shunt::Tensor& t) {
      const auto* lazy = shunt::wrapper_cast<LazyTensor>(t);
      return lazy != nullptr ? lazy->materialize() : t;
    });
  }

  std::shared_ptr<Recorded> call_;
  size_t index_;
};

}  // namespace examples
