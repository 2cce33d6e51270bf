// expect: defines the weak symbol helper(float)
__attribute__((noinline)) inline float helper(float x) { return x * x + 1; }
namespace SHUNT_ISA_NAMESPACE {
float loop(float x) { return helper(x); }
}  // namespace SHUNT_ISA_NAMESPACE
