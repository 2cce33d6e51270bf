// Functions with bitcode for the compiler's tests: what one source keeps to itself. See fixture_kernels.h.
#include "tests/jit/fixture_kernels.h"

namespace {

[[gnu::noinline]] int internalHelper(int value) { return value + 10; }
[[gnu::noinline]] int keepsInternal(int value, int (**out)(int)) {
  *out = &internalHelper;
  return value;
}
constexpr std::string_view kNames[] = {"first of the names", "second of the names"};
constexpr int kTable[] = {2, 3, 5, 7, 11, 13};
int counter = 0;
thread_local int per_thread = 0;

}  // namespace

int fixtureCallsHelpers(int value) { return internalHelper(value) + fixtureInline(value); }
int fixtureCallsTwice(int value) { return fixtureTwice(value) + 1; }
int fixtureTable(int index) { return kTable[index]; }
int fixtureNamed(const char* name, int64_t size) {
  return std::string_view(name, static_cast<size_t>(size)) == "a name in the bitcode";
}
int fixtureKeepsAddress(int (**out)(int), int value) {
  *out = &fixtureTwice;
  return fixtureTwice(value);
}
void fixtureKeepsInternalAddress(int (**out)(int)) { *out = &internalHelper; }
int fixtureKeepsDeep(int value, int (**out)(int)) { return keepsInternal(value, out) + 1; }
int fixtureCounts() { return ++counter; }
int fixtureThreadLocal() { return ++per_thread; }
int fixtureUsesCold(int value) { return value < 0 ? fixtureCold(value) : value; }
const char* fixtureLiteral() { return "kept for good"; }
const std::string_view* fixtureLiterals() { return kNames; }
