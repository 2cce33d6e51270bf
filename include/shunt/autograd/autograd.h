// Includes everything of autograd that programs use: grad and backward, nodes, custom functions, gradcheck, grad mode.
#pragma once

#include <shunt/autograd/autograd_meta.h>
#include <shunt/autograd/custom_function.h>
#include <shunt/autograd/engine.h>
#include <shunt/autograd/gradcheck.h>
#include <shunt/autograd/node.h>
#include <shunt/core/tls.h>
