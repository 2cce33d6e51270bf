// What a call's keys are, and which one acts first.
#include "examples/dispatcher_tour/tour.h"

#include <shunt/shunt.h>

#include <iostream>

namespace tour {

using namespace shunt;

void priorities() {
  constexpr DispatchKey kKeys[] = {DispatchKey::Python,      DispatchKey::Functionalize, DispatchKey::ADInplaceOrView,
                                   DispatchKey::AutogradCPU, DispatchKey::AutocastCPU,   DispatchKey::BackendSelect,
                                   DispatchKey::CPU};
  DispatchKeySet keys;
  for (DispatchKey key : kKeys) keys = keys | DispatchKeySet(key);
  int place = 0;
  // What redispatching does: the highest acts, and then the keys below it.
  for (DispatchKey key; (key = keys.highestPriorityKey()) != DispatchKey::Undefined;
       keys = keys & DispatchKeySet::fullAfter(key))
    std::cout << ++place << ". " << key << '\n';
}

void keysets() {
  const Tensor x = randn({10}), w = randn({10}).requires_grad_();
  std::cout << "a tensor:                " << x.key_set() << '\n';
  std::cout << "one that requires grad:  " << w.key_set() << '\n';
  std::cout << "both:                    " << (x.key_set() | w.key_set()) << '\n';
  std::cout << "the thread includes      " << tls_included() << '\n';
  const NoGradGuard no_grad;
  std::cout << "under no_grad it excludes autograd: " << (tls_is_excluded(DispatchKey::AutogradCPU) ? "yes" : "no")
            << '\n';
}

void twoTensors() {
  // All arguments choose together: one of them requires grad, so Autograd acts first.
  const Tensor x = randn({10}), w = randn({10}).requires_grad_();
  const OperatorHandle add = Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  std::cout << add.explainFor(x.key_set() | w.key_set());
}

}  // namespace tour
