// expect: clean
// Exact intrinsics, constants, external state and a registration that fills in when the library is loaded.
#include <cmath>
#include <string>
#include <vector>

extern std::vector<std::string> registered;
extern thread_local int depth;
extern int counter;
__attribute__((visibility("default"))) void scaled(float* out, const float* in, long n) {
  static constexpr float kTable[4] = {1, 2, 3, 4};
  for (long i = 0; i < n; ++i) out[i] = std::sqrt(std::fabs(in[i])) * kTable[n & 3] + __builtin_fmaf(in[i], 2, 1);
  counter += depth;
}
struct Registration {
  explicit Registration(const char* name) { registered.push_back(name); }
  ~Registration() { registered.pop_back(); }
};
static const Registration kRegistration("scaled");
