// Names as in shunt/core/boxing.h: by them the rules find kernels.
#pragma once

namespace shunt::boxing {

template <auto Fn>
struct StaticKernel {
  static int call(void*, int x) { return Fn(x); }
};

}  // namespace shunt::boxing

using Kernel = int (*)(void*, int);
void registerKernel(Kernel);
