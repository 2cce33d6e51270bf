// Programs on Shunt.
#include "tests/parity/dtypes.h"
#include "tests/parity/random.h"
#include "tests/parity_programs/program.h"

#include <shunt/shunt.h>

#include <algorithm>
#include <optional>

namespace parity_programs {

namespace library {
using namespace shunt;
using namespace shunt::autograd;
}  // namespace library

namespace {
struct Api {
  using GradGuard = shunt::AutoGradMode;
  struct Autocast {
    shunt::AutocastGuard guard{shunt::kCPU};
  };
  static shunt::Tensor tensorOf(const std::vector<double>& v) { return shunt::tensor(v); }
  static int64_t version(const shunt::Tensor& t) { return t._version(); }
  static void beforeStep(const RowInfo&, const shunt::Tensor&) {}
  static std::string gradFnName(const shunt::Tensor& t) { return t.grad_fn() != nullptr ? t.grad_fn()->name() : ""; }
};
}  // namespace

#include "tests/parity_programs/interpret.h"

const std::vector<RowInfo>& shuntRows() {
  static const std::vector<RowInfo> all = allInfos();
  return all;
}
Outcome runShunt(const Program& program) { return runProgram(program); }

}  // namespace parity_programs
