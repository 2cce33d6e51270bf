// expect: has fast-math flags
// flags: -ffast-math
float kernel(float a, float b) { return a / b + a; }
