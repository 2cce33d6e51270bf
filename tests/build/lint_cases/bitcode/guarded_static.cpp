// expect: reaches the mutable variable guard variable for kernel
#include <string>
const std::string& kernel() {
  static const std::string text(100, 'x');
  return text;
}
