// Prints where in the program an operator is called from: glibc's backtrace, the innermost frames first.
#pragma once

#include "examples/modes/arguments.h"

#include <execinfo.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

namespace examples {

class StackTraceMode : public shunt::DispatchMode {
 public:
  StackTraceMode(std::string op, std::ostream& out) : op_(std::move(op)), out_(out) {}
  std::string name() const override { return "StackTraceMode"; }

  void handle(const shunt::OperatorHandle& op, shunt::Stack* stack) override {
    if (op.operator_name().str() == op_) print();
    op.callBoxed(stack);
  }

 private:
  void print() {
    std::array<void*, 32> frames;
    const int n = backtrace(frames.data(), static_cast<int>(frames.size()));
    const std::unique_ptr<char*, void (*)(void*)> lines(backtrace_symbols(frames.data(), n), &std::free);
    out_ << op_ << " called from\n";
    for (int i = 0; i < n; ++i) out_ << "  " << (lines != nullptr ? lines.get()[i] : "?") << '\n';
  }

  std::string op_;
  std::ostream& out_;
};

}  // namespace examples
