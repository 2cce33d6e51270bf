// The other unit: calls something outside, as a wrapper does.
#include <cstdint>
#include <string>

__attribute__((visibility("default"))) int64_t fixtureSum(const int64_t* in, int64_t n, std::string& log) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += in[i];
  log.append("summed");
  return sum;
}
