// An operator that registers a kernel while it runs: what a plan has to see in the middle of a run.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <memory>
#include <utility>

namespace shunt::test {

/// One at a time, on one thread.
class Registering {
 public:
  /// `kernel`: for the CPU, of the operator `name` of "aten".
  template <class F>
  Registering(const char* name, F kernel) : library_(Library::Kind::kDef, "registering") {
    register_ = [this, name, kernel] {
      registered_ = std::make_unique<Library>(Library::Kind::kImpl, "aten", DispatchKey::CPU);
      registered_->impl(name, kernel);
    };
    library_.def("copy(Tensor t) -> Tensor");
    library_.impl("copy", DispatchKey::CPU, [this](const Tensor& t) {
      if (is_on_) register_();
      return t.clone();
    });
  }

  /// Gives a copy.
  Tensor operator()(const Tensor& t) const {
    return Dispatcher::singleton().findSchemaOrThrow("registering::copy").typed<Tensor(const Tensor&)>().call(t);
  }

  /// What `run` gives while calls register the kernel, which is gone afterwards.
  template <class F>
  auto during(F run) {
    is_on_ = true;
    auto out = run();
    is_on_ = false;
    registered_.reset();
    return out;
  }

 private:
  Library library_;
  std::function<void()> register_;
  std::unique_ptr<Library> registered_;
  bool is_on_ = false;
};

}  // namespace shunt::test
