// expect: reaches the mutable thread_local depth
thread_local int depth = 0;
int kernel() { return ++depth; }
