// What the fragments of docs/adding_an_operator.md are written below: the headers of the dictionary's functors and accumulators.
#pragma once

#include "kernels/rows/accumulators.h"

#include <shunt/elementwise/functor.h>
