// mse_loss on memory, as others run it (shunt/elementwise/mse_loss.h).
#include "kernels/pointwise/descriptor.h"

#include <shunt/elementwise/mse_loss.h>

#include <utility>

namespace shunt::elementwise {
namespace {

constexpr int64_t kMostBytes = 8 << 10;  // of squares, on the stack

class Squares : public MseLoss {
 public:
  Squares(LoopFn loop, int64_t elements, std::unique_ptr<const Reduction> reduction)
      : loop_(loop), elements_(elements), reduction_(std::move(reduction)) {}

  void run(const std::byte* self, const std::byte* target, std::byte* out) const override {
    alignas(64) std::byte squares[kMostBytes];
    const std::byte* in[] = {self, target};
    loop_(squares, in, 0, elements_, nullptr);
    reduction_->run(squares, out);
  }

 private:
  const LoopFn loop_;
  const int64_t elements_;
  const std::unique_ptr<const Reduction> reduction_;
};

}  // namespace

std::unique_ptr<const MseLoss> mseLoss(ScalarType dtype, int64_t elements, ReductionOperator how) {
  if (elements == 0 || elements > kMostBytes / std::max<int64_t>(elementSize(dtype), 1)) return nullptr;
  auto sum = reduction(how, dtype, {elements}, {1}, std::nullopt);
  if (sum == nullptr) return nullptr;
  return std::make_unique<const Squares>(kDescriptor<functors::MseLoss>.loop(dtype), elements, std::move(sum));
}

}  // namespace shunt::elementwise
