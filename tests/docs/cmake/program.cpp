// A program that the cmake blocks of pages link.
#include <shunt/shunt.h>

int main() { return shunt::ones({3}).sum().item<float>() == 3 ? 0 : 1; }
