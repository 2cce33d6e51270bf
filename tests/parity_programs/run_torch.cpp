// Programs on libtorch. Compiled by g++.
#include "tests/parity/random.h"
#include "tests/parity_programs/program.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>

namespace parity {
double loadElement(int dtype, const uint8_t* at);  // tests/parity/dtypes.cpp
}

namespace parity_programs {

namespace library {
using namespace at;
using namespace torch::autograd;
namespace autograd = torch::autograd;
using c10::InferenceMode;
}  // namespace library

namespace {
struct Api {
  using GradGuard = c10::AutoGradMode;
  struct Autocast {
    Autocast() { at::autocast::set_cpu_enabled(true); }
    ~Autocast() {
      at::autocast::clear_cache();
      at::autocast::set_cpu_enabled(false);
    }
  };
  static at::Tensor tensorOf(const std::vector<double>& v) { return at::tensor(v, at::kDouble); }
  static int64_t version(const at::Tensor& t) { return t._version(); }
  /// 1.13 dies in register_hook and retain_grad of a view whose base was changed since its history was last asked for.
  static void beforeStep(const RowInfo& row, const at::Tensor& a) {
    if (row.code.find("register_hook") != std::string::npos || row.code.find("retain_grad") != std::string::npos)
      a.grad_fn();
  }
  static std::string gradFnName(const at::Tensor& t) { return t.grad_fn() != nullptr ? t.grad_fn()->name() : ""; }
};

struct DiscardWarnings : c10::WarningHandler {
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}
};
}  // namespace

#include "tests/parity_programs/interpret.h"

const std::vector<RowInfo>& torchRows() {
  static const std::vector<RowInfo> all = allInfos();
  return all;
}
Outcome runTorch(const Program& program) { return runProgram(program); }

void setUpTorch() {
  static DiscardWarnings discard;
  c10::Warning::set_warning_handler(&discard);
  at::set_num_threads(1);
}

}  // namespace parity_programs
