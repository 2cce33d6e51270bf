// Preloaded into a program, a system that refuses what SHUNT_FAULT names:
//   thread   no more threads          memfd    no memory without a name
//   proc     no /proc                 secure   the program has more rights than its caller
//   llvm     no memory for what LLVM's containers ask of malloc at once, if it is 4 KB or more
//   tables   the same of calloc, for LLVM's maps of strings;   small-tables   from 256 bytes on
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool refused(const char* what) {
  const char* fault = std::getenv("SHUNT_FAULT");
  return fault != nullptr && std::strcmp(fault, what) == 0;
}

bool isProc(const char* path) { return path != nullptr && std::strncmp(path, "/proc", 5) == 0 && refused("proc"); }

template <class F>
F* real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

template <class F>
int openReal(const char* name, const char* path, int flags, va_list arguments) {
  const int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
  return real<int(const char*, int, ...)>(name)(path, flags, mode);
}

/// Whether libshunt_jit.so itself asks: operator new, whose exceptions LLVM doesn't expect, is libstdc++'s.
bool refusedToLlvm(size_t size, size_t least, const char* fault, void* caller) {
  if (size < least || !refused(fault)) return false;
  dl_find_object found;
  return _dl_find_object(caller, &found) == 0 && std::strstr(found.dlfo_link_map->l_name, "libshunt_jit") != nullptr;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_calloc(size_t count, size_t size);

void* malloc(size_t size) {
  return refusedToLlvm(size, 4096, "llvm", __builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}

void* realloc(void* memory, size_t size) {
  return refusedToLlvm(size, 4096, "llvm", __builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}

void* calloc(size_t count, size_t size) {
  void* const caller = __builtin_return_address(0);
  const bool no =
      refusedToLlvm(count * size, 4096, "tables", caller) || refusedToLlvm(count * size, 256, "small-tables", caller);
  return no ? nullptr : __libc_calloc(count, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  if (refused("thread")) return EAGAIN;
  return real<decltype(pthread_create)>("pthread_create")(thread, attributes, run, argument);
}

int memfd_create(const char* name, unsigned flags) {
  if (!refused("memfd")) return real<int(const char*, unsigned)>("memfd_create")(name, flags);
  errno = ENOSYS;
  return -1;
}

unsigned long getauxval(unsigned long type) {
  if (type == AT_SECURE && refused("secure")) return 1;
  return real<unsigned long(unsigned long)>("getauxval")(type);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int file = isProc(path) ? (errno = ENOENT, -1) : openReal<void>("open", path, flags, arguments);
  va_end(arguments);
  return file;
}

FILE* fopen(const char* path, const char* mode) {
  if (isProc(path)) return errno = ENOENT, nullptr;
  return real<decltype(fopen)>("fopen")(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  if (isProc(path)) return errno = ENOENT, nullptr;
  return real<decltype(fopen)>("fopen64")(path, mode);
}

}  // extern "C"
