// SavedVariable: a tensor that a node keeps for its backward, with the version it had, so that a later in-place change
// is an error and not a wrong gradient.
//
// An input, or a leaf, is kept as it is. An output is kept without its grad_fn, which is the node that keeps it: a
// reference to it would be a cycle; unpack attaches it again. The result of an in-place operator on a view is kept
// likewise, with a weak reference to the base's history. Const access from several threads is safe.
#pragma once

#include <shunt/autograd/autograd_meta.h>

namespace shunt::autograd {

class SHUNT_API SavedVariable {
 public:
  SavedVariable() = default;
  SavedVariable(SavedVariable&&) noexcept = default;
  SavedVariable& operator=(SavedVariable&&) noexcept = default;
  SavedVariable(const Tensor& variable, bool is_output, bool is_inplace_on_view = false) {
    save(variable, is_output, is_inplace_on_view);
  }
  SavedVariable(const std::optional<Tensor>& variable, bool is_output, bool is_inplace_on_view = false) {
    save(variable, is_output, is_inplace_on_view);
  }

  /// What the constructors do, for one that has saved nothing yet.
  SHUNT_ALWAYS_INLINE void save(const Tensor& variable, bool is_output, bool is_inplace_on_view = false) {
    if (!variable.defined()) return;
    const TensorImpl& impl = *variable.unsafeGetTensorImpl();
    if (impl.is_inference()) [[unlikely]]
      throwInference();
    was_default_constructed_ = false;
    saved_version_ = impl.version().current();
    if (is_output)
      if (const AutogradMeta* meta = get_autograd_meta(variable)) {
        if (meta->is_view_) [[unlikely]]
          return saveView(variable, is_inplace_on_view);
        if (meta->grad_fn_) {
          output_nr_ = meta->output_nr_;
          return put(detached_alias(variable));
        }
      }
    saved_original_ = true;
    put(variable);
  }
  void save(const std::optional<Tensor>& variable, bool is_output, bool is_inplace_on_view = false) {
    if (variable) save(*variable, is_output, is_inplace_on_view);
  }

  /// What an in-place operator saves of an operand before it changes `self`. One whose memory `self` shares is kept
  /// without its history, which would lead back to the node: it is about to be overwritten, and unpack will say so.
  static SavedVariable inplace_operand(const Tensor& operand, const Tensor& self);
  static SavedVariable inplace_operand(const std::optional<Tensor>& operand, const Tensor& self) {
    return inplace_operand(operand ? *operand : Tensor(), self);
  }

  /// The tensor; `saved_for` is the node that holds this, needed where an output was saved. Throws when the tensor has
  /// been changed in place since, or when it has been released.
  Tensor unpack(intrusive_ptr<Node> saved_for = nullptr) const;
  Tensor unpack(Node* saved_for) const { return unpack(intrusive_ptr<Node>::retainFrom(saved_for)); }
  void reset_data() { data_.reset(); }
  bool was_default_constructed() const { return was_default_constructed_; }

 private:
  [[noreturn]] void throwModified(uint32_t now, const intrusive_ptr<Node>& grad_fn) const;
  [[noreturn]] SHUNT_COLD static void throwInference();
  SHUNT_COLD void saveView(const Tensor& output, bool is_inplace);
  SHUNT_ALWAYS_INLINE void put(Tensor tensor) {
    if (data_.defined()) __builtin_unreachable();
    data_ = std::move(tensor);
  }

  struct ViewHistory;
  struct SHUNT_API FreeViewHistory {
    void operator()(ViewHistory* history) const noexcept;
  };

  Tensor data_;
  std::unique_ptr<ViewHistory, FreeViewHistory> view_history_;  // of a view changed in place
  uint32_t saved_version_ = 0;
  uint32_t output_nr_ = 0;
  bool was_default_constructed_ = true;  // or made of an undefined tensor
  bool saved_original_ = false;
};

/// Saves and unpacks lists element by element.
SHUNT_API std::vector<SavedVariable> make_saved_variable_list(TensorList tensors, bool is_output = false);
SHUNT_API std::vector<SavedVariable> make_saved_variable_list(TensorOptList tensors, bool is_output = false);
SHUNT_API variable_list unpack_list(const std::vector<SavedVariable>& saved,
                                    const intrusive_ptr<Node>& saved_for = nullptr);
SHUNT_API std::vector<std::optional<Tensor>> unpack_opt_list(const std::vector<SavedVariable>& saved,
                                                             const intrusive_ptr<Node>& saved_for = nullptr);

}  // namespace shunt::autograd
