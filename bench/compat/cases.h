// What a library of bench_compat exports: `bench_compat_cases`. Plain C, as the program opens one that was built
// against libtorch and one that was built against Shunt, of the same source.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct BenchCompatCase {
  const char* name;
  void (*run)(int64_t calls);  // throws nothing
};

extern "C" const BenchCompatCase* bench_compat_cases(size_t* count);
using BenchCompatCases = const BenchCompatCase* (*)(size_t* count);
