// Python's C interface, and what the whole binding uses of it: owned references, the lock, errors in flight.
//
// Everything here is for threads that hold the interpreter's lock, unless it says otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

namespace shunt::python {

// Note [Threads at the end]
// Daemon threads run on while the interpreter ends. One that asks for the lock then is ended by Python with
// pthread_exit(), which unwinds the stack like an exception, through functions and destructors of C++ that let none
// out: std::terminate would end the process. And destructors that it runs on its way have no lock. So whoever takes the
// lock, has called Python, or needs the lock in a destructor keeps such a thread here until the process is gone.

/// For ever.
[[noreturn]] void waitForEnd() noexcept;
/// Whether the interpreter ends, or will in a moment: from here on a thread may be unwound.
extern std::atomic<bool> interpreter_ends;
/// Lets `interpreter_ends` be set in time.
void watchEnd();
/// waitForEnd() for a thread that has no lock, and isn't the one that ends the interpreter.
void stayWithoutLock() noexcept;
/// PyEval_RestoreThread, and PyGILState_Ensure.
void takeLock(PyThreadState* state) noexcept;
PyGILState_STATE ensureLock() noexcept;
/// Py_XDECREF, which may run what the program wrote.
inline void drop(PyObject* o) noexcept {
  if (o == nullptr) return;
  if (interpreter_ends.load(std::memory_order_relaxed)) [[unlikely]]
    stayWithoutLock();
  try {
    Py_DECREF(o);
  } catch (...) {
    waitForEnd();
  }
}

/// An owned reference to a Python object, or none.
class Ref {
 public:
  Ref() = default;
  /// Takes a reference over. Functions of Python that return null have set an error: see check().
  static Ref steal(PyObject* owned) { return Ref(owned); }
  static Ref borrow(PyObject* object) { return Ref(Py_XNewRef(object)); }
  Ref(const Ref& o) : object_(Py_XNewRef(o.object_)) {}
  Ref(Ref&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Ref() { drop(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* owned) : object_(owned) {}
  PyObject* object_ = nullptr;
};

/// Holds the interpreter's lock for a scope, on any thread, whether it has it already or not.
class Gil {
 public:
  Gil() : state_(ensureLock()) {}
  ~Gil() {
    if (interpreter_ends.load(std::memory_order_relaxed)) [[unlikely]]
      stayWithoutLock();
    PyGILState_Release(state_);
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Elements of the first tensor from which on the lock is released during the call; shorter calls keep it.
inline constexpr int64_t kLongCall = 16384;

/// Releases the lock for a scope, if told so.
class WithoutGil {
 public:
  explicit WithoutGil(bool release = true) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_ != nullptr) takeLock(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// A Python exception on its way through C++: what a handler, hook or function of Python's raised comes out as it was.
/// May be copied and destroyed by threads without the lock.
class PythonError : public std::exception {
 public:
  /// Takes the error that is set on this thread.
  PythonError();
  PythonError(const PythonError& o);
  PythonError& operator=(const PythonError&) = delete;
  ~PythonError() override;
  /// "ValueError: ..." for logs; the exception itself is what restore() gives back.
  const char* what() const noexcept override { return "an exception of Python"; }
  /// Sets it as the thread's current error.
  void restore() const;

 private:
  PyObject *type_, *value_, *traceback_;
};

/// Whether the interpreter still runs: objects can't be touched once it has ended.
bool isInterpreterAlive();

/// Throws PythonError for the null that a function of Python's returned.
inline PyObject* check(PyObject* result) {
  if (result == nullptr) [[unlikely]]
    throw PythonError();
  return result;
}
inline void checkStatus(int status) {
  if (status < 0) [[unlikely]]
    throw PythonError();
}
inline Ref owned(PyObject* result) { return Ref::steal(check(result)); }

/// An attribute of a module, borrowed, kept in `cache` from the first time on: a null pointer that lives as long as the
/// process. Not the initialiser of a static variable, which other threads wait for with the interpreter's lock in their
/// hands, while an import may let go of the lock, and wait for it. Throws PythonError.
PyObject* imported(PyObject*& cache, const char* module, const char* name);

}  // namespace shunt::python
