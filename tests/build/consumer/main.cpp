// Uses the installed library from outside: an error thrown inside libshunt.so is caught here by its type.
#include <shunt/core/error.h>

#include <cstdio>
#include <cstring>

int main() {
  try {
    SHUNT_CHECK(1 + 1 == 3, "sum is ", 2);
  } catch (const shunt::Error& error) {
    std::printf("caught: %s\n", error.what());
    return std::strcmp(error.what(), "sum is 2") != 0;
  }
  std::puts("nothing was thrown");
  return 1;
}
