#include "src/tiering/savings.h"

namespace shunt::jit {
namespace {

/// What a call costs more in the interpreter than in a thunk, in ns.
struct Saved {
  double plain, grad;  // without and with a graph node
};

// The least of three runs of 17 cases of 8 to 64 elements, interpreted and in thunks, on a CPU of 3 GHz: add 53 and 42
// ns, relu 51 and 31, mul with a gradient 140 and 111; linear 273 and 242; t() 82 and 74, narrow 125 and 105; mm 113
// and 115. A kind is what the request shows of the call: whether a loop was recorded, operators were called, or
// neither.
constexpr Saved kLoop = {15, 27}, kCalls = {15, 25}, kNeither = {8, 18};
// A thunk of the second tier against one of the first, which inlines no operators; of another kind of operands against
// a miss.
constexpr double kSecondTier = 3, kInlinedCalls = 25, kAnotherKind = 30;
// An estimate: NativeLoop counts a run for each 4096 elements, and one more.
constexpr double kFusedRun = 300;

}  // namespace

double savedByCall(const CompileRequest& request, Waiting waiting) {
  const bool calls = request.calls[0].op != nullptr;
  if (waiting == Waiting::kWithThunk && request.tier == Tier::kSecond) return calls ? kInlinedCalls : kSecondTier;
  if (waiting == Waiting::kWithThunk) return kAnotherKind;
  const bool grad = DispatchKeySet::fromRaw(request.keys).has(Functionality::AutogradFunctionality);
  const Saved& saved = request.kinds[0].places.hasLoop() ? kLoop : calls ? kCalls : kNeither;
  return grad ? saved.grad : saved.plain;
}

double savedByRun() { return kFusedRun; }

}  // namespace shunt::jit
