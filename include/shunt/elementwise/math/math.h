// All of shunt::math: scalar functions of float and double that vectorise. See Note [Scalar maths] in bits.h.
#pragma once

#include <shunt/elementwise/math/erf.h>
#include <shunt/elementwise/math/exp.h>
#include <shunt/elementwise/math/log.h>
#include <shunt/elementwise/math/normal.h>
#include <shunt/elementwise/math/pow.h>
#include <shunt/elementwise/math/roots.h>
#include <shunt/elementwise/math/sigmoid.h>
#include <shunt/elementwise/math/tanh.h>
#include <shunt/elementwise/math/trig.h>
