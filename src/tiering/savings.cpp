#include "src/tiering/savings.h"

namespace shunt::jit {
namespace {

/// What a call costs more in the interpreter than in a thunk, in ns.
struct Saved {
  double plain, grad;  // without and with a graph node
};

// Medians of bench_calls' cases of 16 floats on a CPU of 3 GHz. A kind is what the request shows of the call: whether a
// loop was recorded, operators were called, or neither, as for views and products.
constexpr Saved kLoop = {30, 45}, kCalls = {60, 90}, kNeither = {15, 30};
// A thunk of the second tier against one of the first; of another kind of operands against a miss.
constexpr double kSecondTier = 8, kAnotherKind = 30;
// NativeLoop counts a run for each 4096 elements, and one more.
constexpr double kFusedRun = 300;

}  // namespace

double savedByCall(const CompileRequest& request, Waiting waiting) {
  if (waiting == Waiting::kWithThunk) return request.tier == Tier::kSecond ? kSecondTier : kAnotherKind;
  const bool grad = DispatchKeySet::fromRaw(request.keys).has(Functionality::AutogradFunctionality);
  const Saved& saved = request.kinds[0].places.hasLoop() ? kLoop : request.calls[0].op != nullptr ? kCalls : kNeither;
  return grad ? saved.grad : saved.plain;
}

double savedByRun() { return kFusedRun; }

}  // namespace shunt::jit
