// All of shunt::math: scalar functions of float and double that vectorise. See Note [Scalar maths] in bits.h.
#pragma once

#include "kernels/elementwise/math/erf.h"
#include "kernels/elementwise/math/exp.h"
#include "kernels/elementwise/math/log.h"
#include "kernels/elementwise/math/pow.h"
#include "kernels/elementwise/math/roots.h"
#include "kernels/elementwise/math/sigmoid.h"
#include "kernels/elementwise/math/tanh.h"
#include "kernels/elementwise/math/trig.h"
