// Every functor of the operator dictionary.
#pragma once

#include "kernels/pointwise/functors/activation.h"
#include "kernels/pointwise/functors/arithmetic.h"
#include "kernels/pointwise/functors/compare.h"
#include "kernels/pointwise/functors/division.h"
#include "kernels/pointwise/functors/gamma.h"
#include "kernels/pointwise/functors/pairs.h"
#include "kernels/pointwise/functors/select.h"
#include "kernels/pointwise/functors/unary.h"
