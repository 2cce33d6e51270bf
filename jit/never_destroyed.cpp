// No static object of this library is ever destroyed.
//
// The compiler's thread may be inside LLVM when the process exits, and LLVM has many static objects, some made at their
// first use; whatever order exit() chose, one would go too early. So this library registers no destructors at all: its
// own references to __cxa_atexit end here (the symbol is hidden, nobody else sees it).
extern "C" __attribute__((visibility("hidden"), used)) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
