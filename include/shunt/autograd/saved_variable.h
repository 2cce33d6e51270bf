// SavedVariable: a tensor that a node keeps for its backward, with the version that it had. An in-place change between
// saving and unpacking is therefore an error instead of a wrong gradient.
//
// Several threads may call its const methods at once. How a tensor is kept depends on what it is for the node:
// - An input or a leaf is kept as it is.
// - An output is kept without its grad_fn. That is the node itself, so a reference to it would be a cycle. unpack
//   attaches it again.
// - The result of an in-place operator on a view is kept without its grad_fn, with a weak reference to the base's.
//
// Note [Saved results]
// For an operator's ordinary new result, only the storage is kept. Ordinary means: a row-major CPU tensor that begins
// where its storage does and counts versions there. unpack takes the rest from the node's description of that output
// (input_metadata). Any other output is kept as a detached alias, which is a tensor itself. So is what handwritten
// nodes save, since the node that unpacks may not be the one that describes the output.
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

  /// Saves as the constructors do; nothing may be saved yet. Throws for an inference tensor.
  SHUNT_ALWAYS_INLINE void save(const Tensor& variable, bool is_output, bool is_inplace_on_view = false) {
    if (!variable.defined()) return;
    const TensorImpl& impl = *variable.unsafeGetTensorImpl();
    if (impl.is_inference()) [[unlikely]]
      throwInference();
    saved_version_ = impl.version().current();
    if (underHooks()) [[unlikely]]
      return savePacked(variable, is_output, is_inplace_on_view);
    if (is_output)
      if (const AutogradMeta* meta = get_autograd_meta(variable))
        if (meta->is_view_ || meta->grad_fn_) return saveOutput(variable, *meta, is_inplace_on_view, false);
    put(Kind::kOriginal, variable.getIntrusivePtr());
  }
  void save(const std::optional<Tensor>& variable, bool is_output, bool is_inplace_on_view = false) {
    if (variable) save(*variable, is_output, is_inplace_on_view);
  }

  /// save(result, true) for an operator's new result. set_history must just have made it one of the node's outputs, and
  /// only the caller may have a handle on it.
  SHUNT_ALWAYS_INLINE void saveResult(const Tensor& result) {
    const AutogradMeta* meta = result.defined() ? get_autograd_meta(result) : nullptr;
    if (meta == nullptr || meta->is_view_ || !meta->grad_fn_ || underHooks()) [[unlikely]]
      return save(result, true);
    saved_version_ = result.unsafeGetTensorImpl()->version().current();
    saveOutput(result, *meta, false, true);
  }

  /// Saves an operand of an in-place operator before the operator changes `self`. An operand that shares memory with
  /// `self` is kept without its history, which would lead back to the node. The operator is about to overwrite it, so
  /// unpack will throw.
  static SavedVariable inplace_operand(const Tensor& operand, const Tensor& self);
  static SavedVariable inplace_operand(const std::optional<Tensor>& operand, const Tensor& self) {
    return inplace_operand(operand ? *operand : Tensor(), self);
  }

  /// The saved tensor. `saved_for` is the node that holds this object; it is needed for a saved output. Throws when the
  /// tensor was changed in place after it was saved, or when it was released.
  Tensor unpack(intrusive_ptr<Node> saved_for = nullptr) const;
  Tensor unpack(Node* saved_for) const { return unpack(intrusive_ptr<Node>::retainFrom(saved_for)); }
  void reset_data() { held_.reset(); }
  bool was_default_constructed() const { return kind_ == Kind::kNothing; }

 private:
  enum class Kind : uint32_t {
    kNothing,      // default-constructed, or from an undefined tensor
    kOriginal,     // held_ is the tensor
    kAlias,        // a detached alias of an output
    kStorage,      // an output's storage: Note [Saved results]
    kChangedView,  // the result of an in-place operator on a view
    kPacked,       // the result of a saved-tensor hook's pack
  };
  struct ChangedView;
  struct Packed;
  static constexpr unsigned kOutputBits = 29;

  [[noreturn]] void throwModified(const Tensor& tensor, const intrusive_ptr<Node>& grad_fn) const;
  [[noreturn]] SHUNT_COLD static void throwInference();
  SHUNT_NOINLINE void saveOutput(const Tensor& output, const AutogradMeta& meta, bool is_inplace_on_view, bool is_new);
  SHUNT_COLD void saveView(const Tensor& output, bool is_inplace);
  static bool underHooks() { return (shunt::detail::tls_state.mode & shunt::detail::kModeSavedHooks) != 0; }
  SHUNT_COLD void savePacked(const Tensor& variable, bool is_output, bool is_inplace_on_view);
  Tensor unpackPacked(intrusive_ptr<Node> saved_for) const;
  template <class T>
  SHUNT_ALWAYS_INLINE void put(Kind kind, intrusive_ptr<T> held, uint32_t output_nr = 0) {
    if (held_) __builtin_unreachable();
    held_ = std::move(held);
    output_nr_ = output_nr & ((1u << kOutputBits) - 1);  // callers have checked it
    kind_ = kind;
  }
  const TensorImpl& heldImpl() const { return static_cast<const TensorImpl&>(*held_); }
  Tensor fromStorage(const Node& saved_for) const;
  Tensor unpackOutput(intrusive_ptr<Node> saved_for) const;

  intrusive_ptr<intrusive_ptr_target> held_;
  uint32_t saved_version_ = 0;
  uint32_t output_nr_ : kOutputBits = 0;
  Kind kind_ : 3 = Kind::kNothing;
};
static_assert(sizeof(SavedVariable) == 16, "a node has one for each tensor that its formulas use");

/// Save and unpack lists element by element. A saved undefined tensor is unpacked as undefined, or as nullopt.
SHUNT_API std::vector<SavedVariable> make_saved_variable_list(TensorList tensors, bool is_output = false);
SHUNT_API std::vector<SavedVariable> make_saved_variable_list(TensorOptList tensors, bool is_output = false);
SHUNT_API variable_list unpack_list(const std::vector<SavedVariable>& saved,
                                    const intrusive_ptr<Node>& saved_for = nullptr);
SHUNT_API std::vector<std::optional<Tensor>> unpack_opt_list(const std::vector<SavedVariable>& saved,
                                                             const intrusive_ptr<Node>& saved_for = nullptr);

}  // namespace shunt::autograd
