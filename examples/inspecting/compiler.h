// The just-in-time compiler: what it compiled, and how a program steers it.
#pragma once

namespace examples {

/// Which operators are called often, and whether they are compiled; a report that other programs read.
void hotPairs();
/// A registration puts compiled code out of use.
void invalidation();
/// The compiler is switched off and on; what it has cost.
void switches();
/// Compiled code is kept on disk, and loaded instead of compiled.
void diskCache();

}  // namespace examples
