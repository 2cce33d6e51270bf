// The wrapper of Note [Tracing]: looks like the tensor that it holds, and has no data. One thread.
#pragma once

#include "src/trace/recording.h"

namespace shunt::trace_detail {

class TracedTensor final : public TensorImpl {
 public:
  TracedTensor(intrusive_ptr<detail::Recording> recording, Tensor inner, Graph::Value* value, Storage storage);

  const Tensor* graph_tensor() const override { return inner_.defined() ? &inner_ : nullptr; }
  const Tensor& inner() const { return inner_; }
  detail::Recording* recording() const { return recording_.get(); }
  bool isDead() const { return !recording_->isOpen(); }
  /// Good while the recording is open.
  Graph::Value* value() const { return value_; }
  void setValue(Graph::Value* value) { value_ = value; }
  /// Takes over the geometry that the inner tensor has now.
  void follow();

 protected:
  void release_resources() override;

 private:
  intrusive_ptr<detail::Recording> recording_;
  Tensor inner_;
  Graph::Value* value_;
};

/// Null for tensors of other kinds.
TracedTensor* tracedOf(const Tensor& t);

}  // namespace shunt::trace_detail
