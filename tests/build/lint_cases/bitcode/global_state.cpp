// expect: reaches the mutable variable state
__attribute__((visibility("default"))) int state = 3;
int kernel(int x) { return x + state; }
