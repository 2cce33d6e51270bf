// Part 9 of the loops of typed calls.
#include "tools/shunt/typed_signatures.h"

template void shunt::cli::addSignatures<9>(KnownSignatures&);
