// All of shunt::math: scalar functions of float and double that vectorise. See Note [Scalar maths] in bits.h.
#pragma once

#include "elementwise/math/erf.h"
#include "elementwise/math/exp.h"
#include "elementwise/math/log.h"
#include "elementwise/math/pow.h"
#include "elementwise/math/roots.h"
#include "elementwise/math/sigmoid.h"
#include "elementwise/math/tanh.h"
#include "elementwise/math/trig.h"
