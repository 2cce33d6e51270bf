// A mode for tests: writes down what it sees, and does what it is told. One thread at a time.
#pragma once

#include <shunt/shunt.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace shunt::test {

/// Without orders it passes calls on.
class Recorder : public DispatchMode {
 public:
  using Handler = std::function<void(const OperatorHandle&, Stack*)>;
  explicit Recorder(std::vector<std::string>& log, std::string name = "", Handler handler = {})
      : log_(log), name_(std::move(name)), handler_(std::move(handler)) {}
  void handle(const OperatorHandle& op, Stack* stack) override {
    log_.push_back(name_ + op.operator_name().str());
    if (handler_)
      handler_(op, stack);
    else
      op.callBoxed(stack);
  }
  std::string name() const override { return "Recorder " + name_; }

 private:
  std::vector<std::string>& log_;
  std::string name_;
  Handler handler_;
};

/// The same at kKernel.
struct KernelRecorder : Recorder {
  using Recorder::Recorder;
  Level level() const override { return Level::kKernel; }
};

/// The same, and means it.
template <class R>
struct Free : R {
  using R::R;
  bool results_may_differ() const override { return true; }
};

}  // namespace shunt::test
