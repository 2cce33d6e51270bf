// Recording the operands of a row kernel's call that makes a pair hot: the interpreter's side of expected.h.
#include "kernels/rows/expected.h"

#include <shunt/core/error.h>

#include <algorithm>

namespace shunt::rows {

const Record kExpected{};

void expectedLoop(const Call&) {
  SHUNT_CHECK(false, "Shunt: an expected loop outside of a thunk; please report this as a bug");
}

void record(const Kernel& kernel, std::initializer_list<const TensorImpl*> inputs) {
  Record& record = *::shunt::detail::tls_state.record;
  // A call inside the recorded one has its own frame.
  const int32_t depth = ::shunt::detail::threadFrames().depth();
  if (depth != record.depth) return ::shunt::detail::recordInnerLoop(depth);
  if (record.form != Record::kUnseen || kernel.loop == nullptr) return;
  if (!std::ranges::all_of(inputs, [](const TensorImpl* t) { return t == nullptr || isDenseCpu(*t); })) return;
  record.form = Record::kFunctional;
  record.common = kernel.common;
  record.functor = kernel.id;
  record.output = kernel.output;
  int i = 0;
  for (const TensorImpl* t : inputs) {
    record.kind[i] = t != nullptr ? Record::kSameShape : Record::kOther;
    record.signature[i++] = t != nullptr ? t->signature() : uint16_t{0};
  }
  record.places = {kernel.family,
                   kernel.entry,
                   kernel.expecting,
                   kernel.miss,
                   /*placeholder=*/nullptr,
                   reinterpret_cast<const void*>(&expectedLoop),
                   /*loop=*/nullptr,
                   reinterpret_cast<const void*>(kernel.loop),
                   &kExpected};
}

constinit thread_local uint64_t interpreted_calls SHUNT_TLS_MODEL;

uint64_t interpretedCalls() { return interpreted_calls; }

}  // namespace shunt::rows
