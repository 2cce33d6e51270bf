// expect: reaches the mutable variable helper(int)::calls
// No kernels, but functions that kernels of other units may bring along.
int helper(int x) {
  static int calls = 0;
  return x + ++calls;
}
