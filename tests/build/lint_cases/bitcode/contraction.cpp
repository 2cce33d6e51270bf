// expect: llvm.fmuladd.f32 lets the compiler choose
// flags: -ffp-contract=on
float kernel(float a, float b, float c) { return a * b + c; }
