// expect: reaches the mutable variable kernel(int)::calls
int kernel(int x) {
  static int calls;
  return x + ++calls;
}
