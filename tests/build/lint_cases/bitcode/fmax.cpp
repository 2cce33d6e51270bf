// expect: uses llvm.maxnum.f64
#include <cmath>
double kernel(double x, double y) { return std::fmax(x, y); }
