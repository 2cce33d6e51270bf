// Every functor of the operator dictionary.
#pragma once

#include "kernels/elementwise/functors/activation.h"
#include "kernels/elementwise/functors/arithmetic.h"
#include "kernels/elementwise/functors/compare.h"
#include "kernels/elementwise/functors/division.h"
#include "kernels/elementwise/functors/select.h"
#include "kernels/elementwise/functors/unary.h"
