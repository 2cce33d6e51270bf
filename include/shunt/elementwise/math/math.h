// Includes all of shunt::math: scalar functions of float and double. All but those of gamma.h vectorise. See Note
// [Scalar maths] in bits.h.
#pragma once

#include <shunt/elementwise/math/arc.h>
#include <shunt/elementwise/math/bases.h>
#include <shunt/elementwise/math/erf.h>
#include <shunt/elementwise/math/erfc.h>
#include <shunt/elementwise/math/exp.h>
#include <shunt/elementwise/math/gamma.h>
#include <shunt/elementwise/math/hyperbolic.h>
#include <shunt/elementwise/math/hypot.h>
#include <shunt/elementwise/math/log.h>
#include <shunt/elementwise/math/neighbour.h>
#include <shunt/elementwise/math/normal.h>
#include <shunt/elementwise/math/pow.h>
#include <shunt/elementwise/math/roots.h>
#include <shunt/elementwise/math/sigmoid.h>
#include <shunt/elementwise/math/tanh.h>
#include <shunt/elementwise/math/trig.h>
