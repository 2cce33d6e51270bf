#include "tests/jit/fixture_kernels.h"

FixtureShape::~FixtureShape() = default;
int FixtureShape::corners() const { return 4; }

int fixtureTwice(int value) { return fixtureInline(value) - value; }
FixtureShape* fixtureMakesShape() { return new FixtureShape; }
