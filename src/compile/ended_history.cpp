#include "src/compile/ended_history.h"

#include <shunt/autograd/autograd.h>
#include <shunt/autograd/variable_utils.h>
#include <shunt/ops.h>

namespace shunt {
namespace {

struct CompiledFunctionBackward final : Node {
  explicit CompiledFunctionBackward(std::string error) : error(std::move(error)) {}
  autograd::variable_list apply(autograd::variable_list&&) override { throw Error(error); }
  const std::string error;
};

}  // namespace

namespace compiled {

std::string errorOfBackward(const Tensor& fake_result) {
  try {
    autograd::backward({fake_result}, {ops::ones_like::call(fake_result, {}, {}, {}, {}, {})}, true);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

void endHistory(const Tensor& result, const std::string& error) {
  autograd::set_history(result, make_intrusive<CompiledFunctionBackward>(error));
}

}  // namespace compiled
}  // namespace shunt
