// expect: uses erf
#include <cmath>
double kernel(double x) { return std::erf(x); }
