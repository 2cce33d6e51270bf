// Intrusive reference counting: one 64-bit word holds the strong count (low half) and the weak count (high half).
//
// All strong owners together hold one weak count. An owner that finds the word at "one strong, one weak" is alone, so
// it destroys the object without a read-modify-write. Temporary tensors are the common case, and this saves some 5 ns
// per tensor.
// - Any thread may change counts.
// - Memory orders: decrements release. The load that proves "alone" and the decrement that reaches zero acquire, so the
//   destructor sees what other owners wrote.
#pragma once

#include <shunt/core/macros.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace shunt {

/// The base class of objects that count their references.
class SHUNT_API intrusive_ptr_target {
 public:
  intrusive_ptr_target(const intrusive_ptr_target&) = delete;
  intrusive_ptr_target& operator=(const intrusive_ptr_target&) = delete;

 protected:
  intrusive_ptr_target() = default;
  virtual ~intrusive_ptr_target() = default;
  /// Releases what the object owns. Called when the last strong reference ends while weak ones remain.
  virtual void release_resources() {}
  /// Called when no reference is left. Deletes the object; objects inside a larger block override it.
  virtual void destroy() { delete this; }

 private:
  template <class T>
  friend class intrusive_ptr;
  template <class T>
  friend class weak_intrusive_ptr;
  friend struct IntrusiveAccess;

  static constexpr uint64_t kStrong = 1;
  static constexpr uint64_t kWeak = uint64_t{1} << 32;
  static constexpr uint64_t kAlone = kStrong + kWeak;
  static constexpr uint64_t kStrongMask = kWeak - 1;

  void retain() const noexcept { counts_.fetch_add(kStrong, std::memory_order_relaxed); }
  SHUNT_ALWAYS_INLINE void release() const noexcept {
    if (counts_.load(std::memory_order_acquire) == kAlone) {
      const_cast<intrusive_ptr_target*>(this)->destroy();
      return;
    }
    releaseShared();
  }
  SHUNT_NOINLINE void releaseShared() const noexcept {
    const uint64_t before = counts_.fetch_sub(kStrong, std::memory_order_acq_rel);
    if ((before & kStrongMask) != kStrong) return;
    auto* self = const_cast<intrusive_ptr_target*>(this);
    if ((before - kStrong) == kWeak) return self->destroy();
    self->release_resources();
    releaseWeak();
  }
  void retainWeak() const noexcept { counts_.fetch_add(kWeak, std::memory_order_relaxed); }
  void releaseWeak() const noexcept {
    if (counts_.load(std::memory_order_acquire) == kWeak ||
        (counts_.fetch_sub(kWeak, std::memory_order_acq_rel) >> 32) == 1)
      const_cast<intrusive_ptr_target*>(this)->destroy();
  }
  bool retainIfAlive() const noexcept {
    uint64_t now = counts_.load(std::memory_order_relaxed);
    while ((now & kStrongMask) != 0)
      if (counts_.compare_exchange_weak(now, now + kStrong, std::memory_order_acq_rel, std::memory_order_relaxed))
        return true;
    return false;
  }
  size_t strongCount() const noexcept { return counts_.load(std::memory_order_acquire) & kStrongMask; }

  mutable std::atomic<uint64_t> counts_{kAlone};  // a new object has one owner
};

/// A strong reference, or null. Different objects may be used on different threads; one object is not synchronised.
template <class T>
class intrusive_ptr {
 public:
  /// The type of the referenced object.
  using element_type = T;
  constexpr intrusive_ptr() noexcept = default;
  constexpr intrusive_ptr(std::nullptr_t) noexcept {}
  intrusive_ptr(const intrusive_ptr& o) noexcept : p_(o.p_) {
    if (p_) p_->intrusive_ptr_target::retain();
  }
  intrusive_ptr(intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  intrusive_ptr(const intrusive_ptr<U>& o) noexcept : p_(o.get()) {
    if (p_) p_->intrusive_ptr_target::retain();
  }
  template <class U>
    requires std::is_convertible_v<U*, T*>
  intrusive_ptr(intrusive_ptr<U>&& o) noexcept : p_(o.release()) {}
  ~intrusive_ptr() {
    if (p_) p_->intrusive_ptr_target::release();
  }
  intrusive_ptr& operator=(const intrusive_ptr& o) noexcept {
    intrusive_ptr(o).swap(*this);
    return *this;
  }
  intrusive_ptr& operator=(intrusive_ptr&& o) noexcept {
    intrusive_ptr(std::move(o)).swap(*this);
    return *this;
  }

  /// Takes over the reference that release() returned, without a new count.
  static intrusive_ptr reclaim(T* owned) noexcept {
    intrusive_ptr r;
    r.p_ = owned;
    return r;
  }
  /// A new strong reference to an object that another reference keeps alive during the call.
  static intrusive_ptr retainFrom(T* borrowed) noexcept {
    if (borrowed) borrowed->intrusive_ptr_target::retain();
    return reclaim(borrowed);
  }
  /// A std::shared_ptr that holds a copy of this reference, for code written for shared_ptr.
  operator std::shared_ptr<T>() const {
    return p_ ? std::shared_ptr<T>(p_, [held = *this](T*) {}) : std::shared_ptr<T>();
  }
  /// Gives up the reference without changing the count. Pass the result to reclaim().
  T* release() noexcept { return std::exchange(p_, nullptr); }
  void reset() noexcept { intrusive_ptr().swap(*this); }
  void swap(intrusive_ptr& o) noexcept { std::swap(p_, o.p_); }

  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  /// Whether it is not null.
  bool defined() const noexcept { return p_ != nullptr; }
  /// The number of strong references, 0 for null. Other threads may change it at any time.
  size_t use_count() const noexcept { return p_ ? p_->intrusive_ptr_target::strongCount() : 0; }
  bool unique() const noexcept { return use_count() == 1; }

  friend bool operator==(const intrusive_ptr& a, const intrusive_ptr& b) noexcept { return a.p_ == b.p_; }
  friend bool operator==(const intrusive_ptr& a, std::nullptr_t) noexcept { return a.p_ == nullptr; }

 private:
  T* p_ = nullptr;
};

/// A weak reference: keeps the object's memory, but not its contents. `lock` returns a strong one while there is any.
template <class T>
class weak_intrusive_ptr {
 public:
  weak_intrusive_ptr() noexcept = default;
  explicit weak_intrusive_ptr(const intrusive_ptr<T>& o) noexcept : p_(o.get()) {
    if (p_) p_->intrusive_ptr_target::retainWeak();
  }
  weak_intrusive_ptr(const weak_intrusive_ptr& o) noexcept : p_(o.p_) {
    if (p_) p_->intrusive_ptr_target::retainWeak();
  }
  weak_intrusive_ptr(weak_intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~weak_intrusive_ptr() { reset(); }
  weak_intrusive_ptr& operator=(weak_intrusive_ptr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  void reset() noexcept {
    if (T* p = std::exchange(p_, nullptr)) p->intrusive_ptr_target::releaseWeak();
  }
  /// A strong reference, or null if none was left.
  intrusive_ptr<T> lock() const noexcept {
    return p_ && p_->intrusive_ptr_target::retainIfAlive() ? intrusive_ptr<T>::reclaim(p_) : intrusive_ptr<T>();
  }
  /// Whether no strong reference is left.
  bool expired() const noexcept { return !p_ || p_->intrusive_ptr_target::strongCount() == 0; }
  /// The address. Compare it only; the contents may be released.
  T* unsafeGet() const noexcept { return p_; }

 private:
  T* p_ = nullptr;
};

/// Makes an object with new and returns its only reference.
template <class T, class... Args>
intrusive_ptr<T> make_intrusive(Args&&... args) {
  return intrusive_ptr<T>::reclaim(new T(std::forward<Args>(args)...));
}

}  // namespace shunt

template <class T>
struct std::hash<shunt::intrusive_ptr<T>> {
  size_t operator()(const shunt::intrusive_ptr<T>& p) const noexcept { return std::hash<T*>()(p.get()); }
};
