// Values by the names of ATen/core/ivalue.h. Values aren't synchronised.
// - Tuples and weak references work.
// - TorchScript's kinds of values are names only, as Shunt has none. Using one throws NotImplementedError.
#pragma once

#include <shunt/shunt.h>
#include <shunt_torch/complex.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt {

using DimVector = std::vector<int64_t>;

[[noreturn]] inline void throwAbsent(const char* name) {
  throw NotImplementedError(std::string(name) + ": there is no such value in Shunt, as it has no TorchScript");
}

namespace ivalue {

using ConstantString = shunt::detail::Boxed<std::string>;

/// The object that copies of a tuple's IValue share.
struct Tuple : shunt::detail::Boxed<std::vector<IValue>> {
  using Boxed::Boxed;
  static intrusive_ptr<Tuple> create(std::vector<IValue> parts) { return make_intrusive<Tuple>(std::move(parts)); }
  const std::vector<IValue>& elements() const { return value; }
};

/// The parts of a tuple.
class TupleElements {
 public:
  using iterator = std::vector<IValue>::iterator;
  using const_iterator = std::vector<IValue>::const_iterator;
  TupleElements() = default;
  explicit TupleElements(std::vector<IValue> parts) : parts_(std::move(parts)) {}
  explicit TupleElements(IValue a) : parts_{std::move(a)} {}
  TupleElements(IValue a, IValue b) : parts_{std::move(a), std::move(b)} {}
  TupleElements(IValue a, IValue b, IValue c) : parts_{std::move(a), std::move(b), std::move(c)} {}
  bool empty() const { return parts_.empty(); }
  size_t size() const { return parts_.size(); }
  IValue& operator[](size_t i) { return parts_[i]; }
  const IValue& operator[](size_t i) const { return parts_[i]; }
  IValue& at(size_t i) { return parts_.at(i); }
  const IValue& at(size_t i) const { return parts_.at(i); }
  iterator begin() { return parts_.begin(); }
  iterator end() { return parts_.end(); }
  const_iterator begin() const { return parts_.begin(); }
  const_iterator end() const { return parts_.end(); }
  const IValue& back() const { return parts_.back(); }
  void setContents(std::vector<IValue>&& parts) { parts_ = std::move(parts); }
  std::vector<IValue> vec() const& { return parts_; }
  std::vector<IValue> vec() && { return std::move(parts_); }

 private:
  std::vector<IValue> parts_;
};

}  // namespace ivalue

/// A reference to a value that doesn't keep a tensor alive. Throws for other shared values.
class WeakIValue {
 public:
  explicit WeakIValue(const IValue& v) {
    if (v.isTensor())
      tensor_ = weak_intrusive_ptr<TensorImpl>(v.toTensor().getIntrusivePtr());
    else
      SHUNT_CHECK(!v.isPtrType(), "WeakIValue: of a ", v.tagName(),
                  " that is shared, there are strong references only");
    if (!v.isTensor()) plain_ = v;
  }
  IValue lock() const { return plain_.isNone() ? IValue(Tensor(tensor_.lock())) : plain_; }

 private:
  weak_intrusive_ptr<TensorImpl> tensor_;
  IValue plain_;
};

// ---- names only ----------------------------------------------------------------------------------------------------
class Blob : public intrusive_ptr_target {
 public:
  Blob() { throwAbsent("caffe2::Blob"); }
};
struct Stream {
  enum Default { DEFAULT };
  Stream(Default, Device) { throwAbsent("Stream"); }
};
struct CompilationUnit {
  CompilationUnit() { throwAbsent("CompilationUnit"); }
};

/// A type of TorchScript.
struct AbsentType {
  using Ptr = std::shared_ptr<AbsentType>;
  template <class... Args>
  static Ptr create(const Args&...) {
    throwAbsent("ClassType::create");
  }
  static Ptr create(const char*, const Ptr&, std::vector<std::pair<std::string, IValue>>,
                    const std::shared_ptr<CompilationUnit>&) {
    throwAbsent("EnumType::create");
  }
  static Ptr create(std::nullopt_t, std::weak_ptr<CompilationUnit>) { throwAbsent("ClassType::create"); }
  static Ptr create(const char*, std::weak_ptr<CompilationUnit>) { throwAbsent("ClassType::create"); }
  static Ptr get() { throwAbsent("c10::Type"); }
  template <class Type>
  void addAttribute(const char*, const Type&) {}
  bool hasAttribute(const char*) const { return false; }
  size_t numAttributes() const { return 0; }
};
using ClassType = AbsentType;
using EnumType = AbsentType;
using FloatType = AbsentType;
using IntType = AbsentType;
using StringType = AbsentType;
using TensorType = AbsentType;
struct StrongTypePtr {
  StrongTypePtr(const std::shared_ptr<CompilationUnit>&, const AbsentType::Ptr&) {}
};

namespace ivalue {

struct Future : intrusive_ptr_target {
  using FutureError = std::runtime_error;
  explicit Future(const AbsentType::Ptr&) { throwAbsent("ivalue::Future"); }
  bool completed() const { return false; }
  bool hasError() const { return false; }
  const IValue& value() const { throwAbsent("ivalue::Future"); }
  void markCompleted(const IValue&) {}
  void setError(const std::exception_ptr&) {}
  std::string tryRetrieveErrorMessage() const { return {}; }
  template <class Callback>
  void addCallback(const Callback&) {
    static_assert(std::is_invocable_v<Callback&, Future&>);
  }
};
struct Object : intrusive_ptr_target {
  Object(const StrongTypePtr&, size_t) { throwAbsent("ivalue::Object"); }
  static intrusive_ptr<Object> create(const StrongTypePtr& type, size_t n) { return make_intrusive<Object>(type, n); }
  void unsafeRemoveAttr(const char*) {}
  void setSlot(size_t, const IValue&) {}
  std::vector<IValue> slots() const { return {}; }
};
struct EnumHolder : intrusive_ptr_target {
  EnumHolder(const AbsentType::Ptr&, const char*, const IValue&) { throwAbsent("ivalue::EnumHolder"); }
};

}  // namespace ivalue

namespace detail {
template <class T>
inline constexpr bool kIsAbsent = false;
template <>
inline constexpr bool kIsAbsent<intrusive_ptr<Blob>> = true;
template <>
inline constexpr bool kIsAbsent<intrusive_ptr<ivalue::Future>> = true;
template <>
inline constexpr bool kIsAbsent<intrusive_ptr<ivalue::Object>> = true;
template <>
inline constexpr bool kIsAbsent<intrusive_ptr<ivalue::EnumHolder>> = true;
template <>
inline constexpr bool kIsAbsent<Stream> = true;
template <class T>
inline constexpr bool kIsAbsent<std::complex<T>> = true;

template <class T>
  requires kIsAbsent<T>
inline constexpr bool kBoxedByTraits<T> = true;
}  // namespace detail

namespace boxing {
template <class T>
  requires shunt::detail::kIsAbsent<T>
struct BoxTraits<T> {
  static Type schemaType() { throwAbsent("a kernel's argument"); }
  static IValue box(const T&) { throwAbsent("IValue"); }
  static T unbox(IValue&) { throwAbsent("IValue::to"); }
};
}  // namespace boxing

}  // namespace shunt
