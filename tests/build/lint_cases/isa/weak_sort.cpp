// expect: defines the weak symbol void std::__introsort_loop
#include <algorithm>
namespace SHUNT_ISA_NAMESPACE {
void loop(float* x, long n) { std::sort(x, x + n); }
}  // namespace SHUNT_ISA_NAMESPACE
