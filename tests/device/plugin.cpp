// A library for load_library: an operator of its own, and an initialiser.
#include <shunt/backend.h>
#include <shunt/shunt.h>

namespace {
int initialised = 0;
}

SHUNT_LIBRARY_INIT() {
  ++initialised;
#ifdef FAILING
  throw shunt::Error(shunt::detail::str("no such hardware, attempt ", initialised));
#endif
}

#ifndef FAILING
SHUNT_LIBRARY(device_plugin, m) {
  m.def("initialised(Tensor self) -> Tensor");
  m.impl("initialised", [](const shunt::Tensor& self) { return self.add(initialised); });
}
#endif
