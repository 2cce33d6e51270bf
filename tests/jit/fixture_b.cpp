// Functions with bitcode for the compiler's tests: what a second source defines and uses of the first.
#include "tests/jit/fixture_kernels.h"

FixtureShape::~FixtureShape() = default;
int FixtureShape::corners() const { return 4; }

int fixtureTwice(int value) { return fixtureInline(value) - value; }
FixtureShape* fixtureMakesShape() { return new FixtureShape; }
