// What a graph may depend on, and what finds a number that changed.
#pragma once

namespace examples {

/// A result that is differentiated outside of the compiled function.
void outside();
/// Captured numbers: named, they are seen; not named, a check of the graph finds the change.
void captures();

}  // namespace examples
