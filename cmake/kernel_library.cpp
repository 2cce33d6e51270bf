// Part of every library that shunt_add_kernels adds kernels to: tells Shunt's compiler where their bitcode is, from
// before the library's registrations until after them.
#include <shunt/jit/kernel_library.h>

extern "C" {
extern const char __start_shunt_bc[] __attribute__((visibility("hidden")));
extern const char __stop_shunt_bc[] __attribute__((visibility("hidden")));
}

namespace {
__attribute__((init_priority(101))) const shunt::jit::KernelLibrary kernels(__start_shunt_bc, __stop_shunt_bc);
}
