// What decides whether a variant of a compiled function may run in a call's place: Note [Compiled functions]
// (include/shunt/compile/compile.h). Values; any thread.
#pragma once

#include "src/compile/guards/why.h"

#include <shunt/compile/compile.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace shunt::compiled {

/// What the graph was recorded for of one tensor: an argument, a captured one, or the grad of one of these.
struct TensorKind {
  /// The first thing in which a tensor differs; null: none. Both are defined.
  const char* difference(const Tensor& t, bool links_history) const;

  bool defined = false;
  DispatchKeySet keys = {};
  ScalarType dtype = ScalarType::Undefined;
  Device device = kCPU;
  InlineVector<int64_t, 4> sizes, strides;  // beside each other: they are compared at each call
  int64_t offset = 0;
  bool requires_grad = false, is_leaf = true, wrapped_number = false;
  const StorageImpl* storage = nullptr;        // when the graph was recorded; to compare only
  size_t same = 0;                             // the first tensor that this one is
  size_t home = 0;                             // the first one that shares its storage
  std::unique_ptr<TensorKind> grad = nullptr;  // null where there is none
};

/// Why the function itself has to run with these settings of the thread.
Why whyNotOnThisThread();
/// The same for a tensor among its arguments or captures. `links_history`: what comes of a graph from outside of the
/// function, or has hooks, is fine.
Why whyNotWith(const Tensor& t, bool links_history = false);

class FlatGuard;

class SHUNT_API Guard {
 public:
  ~Guard();
  /// Of the calling thread, and of the tensors as they are: the arguments, and those that `options` names.
  Guard(const detail::CompileArguments& arguments, const CompileOptions& options);
  /// Results are linked with the arguments' own history, whatever that is.
  void linkHistory() { links_history_ = true; }
  /// What the graph has captured besides; `offsets`: whether it speaks of offsets in storages.
  void add(const detail::CompileArguments& arguments, const std::vector<Tensor>& captured, bool offsets);
  /// Whether the call is as the recorded one was. Allocates nothing for up to some 60 tensors that the words describe,
  /// and up to eight others, but under autocast.
  bool holds(const detail::CompileArguments& arguments) const;
  /// The same, but false at once where the words differ that are compared first, and it hasn't held so before.
  bool holdsQuickly(const detail::CompileArguments& arguments) const {
    if (holdsByWords(arguments)) [[likely]]
      return true;
    return held_in_full_.load(std::memory_order_relaxed) && holdsInFull(arguments);
  }
  /// Whether it holds by the few words alone that are compared first; false also where it holds by all the rest.
  bool holdsByWords(const detail::CompileArguments& arguments) const;
  /// For people: the first thing that differs.
  std::string difference(const detail::CompileArguments& arguments) const;
  /// For people: one line.
  std::string describe() const;
  /// For people: what of that differs between the variants of one kind.
  std::string describeSizes() const;
  /// For people: the first thing in which this guard differs from another one of the function, also what describe()
  /// doesn't show. Empty: nothing.
  std::string differenceFrom(const Guard& other) const;

 private:
  bool holdsInFull(const detail::CompileArguments& arguments) const;
  const char* differenceOfCall(const detail::CompileArguments& arguments) const;
  std::string differenceOfCallFrom(const Guard& other) const;
  const char* differenceOfTensorFrom(const Guard& other, size_t i) const;
  std::string nameOfTensor(size_t i) const;
  template <class Found>
  bool compare(const detail::CompileArguments& arguments, Found&& found) const;
  bool mayShareMemory(const detail::CompileArguments& arguments, size_t i) const;
  void addKind(const detail::CompileArguments& arguments, size_t i);
  const Tensor& tensor(const detail::CompileArguments& arguments, size_t i) const {
    return i < arguments.tensors.size() ? *arguments.tensors[i] : captured_[i - arguments.tensors.size()];
  }

  const CompileOptions& options_;
  const std::type_info* types_;
  std::vector<uint64_t> numbers_, scalars_;
  std::vector<Tensor> captured_;  // what options_.captures held, then the graph's
  std::vector<TensorKind> tensors_;
  Graph::Modes modes_;
  ScalarType default_dtype_;
  bool offsets_ = false, links_history_ = false;
  bool only_tensors_ = true;                       // there are neither numbers nor named captures and scalars
  const std::unique_ptr<FlatGuard> flat_;          // of the same; answers first
  mutable std::atomic<bool> held_in_full_{false};  // it did where these words differed
};

}  // namespace shunt::compiled
