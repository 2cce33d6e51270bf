// Functions with bitcode that the extraction tests ask for by name; their library is small enough to know all of it.
#pragma once

#include <cstdint>
#include <string_view>

#define SHUNT_FIXTURE extern "C" __attribute__((visibility("default")))

struct __attribute__((visibility("default"))) FixtureShape {
  virtual ~FixtureShape();
  virtual int corners() const;
};

SHUNT_FIXTURE int fixtureTwice(int value);
SHUNT_FIXTURE int fixtureCallsHelpers(int value);
SHUNT_FIXTURE int fixtureCallsTwice(int value);
SHUNT_FIXTURE int fixtureTable(int index);
SHUNT_FIXTURE int fixtureNamed(const char* name, int64_t size);
SHUNT_FIXTURE FixtureShape* fixtureMakesShape();
SHUNT_FIXTURE int fixtureKeepsAddress(int (**out)(int), int value);
SHUNT_FIXTURE void fixtureKeepsInternalAddress(int (**out)(int));
SHUNT_FIXTURE int fixtureKeepsDeep(int value, int (**out)(int));
SHUNT_FIXTURE int fixtureCounts();
SHUNT_FIXTURE int fixtureThreadLocal();
SHUNT_FIXTURE int fixtureUsesCold(int value);
SHUNT_FIXTURE const char* fixtureLiteral();
SHUNT_FIXTURE const std::string_view* fixtureLiterals();

/// Inline and marked cold: it stays the host's.
[[gnu::cold, gnu::noinline]] __attribute__((visibility("default"))) inline int fixtureCold(int value) {
  return value - 1;
}

template <class T>
[[gnu::noinline]] T fixtureInline(T value) {
  return value * 3;
}
