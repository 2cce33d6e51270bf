// Everything a program needs: tensors, operators, autograd, modes, transforms, graphs, registration.
#pragma once

#include <shunt/autograd/autograd.h>
#include <shunt/compile/compile.h>
#include <shunt/core/dispatcher.h>
#include <shunt/core/library.h>
#include <shunt/core/parallel.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>
#include <shunt/device/cuda.h>
#include <shunt/interpose/dispatch_mode.h>
#include <shunt/jit/budget.h>
#include <shunt/jit/jit.h>
#include <shunt/ops.h>
#include <shunt/tensor/dlpack.h>
#include <shunt/tensor/tensor.h>
#include <shunt/tensor/tensor_index.h>
#include <shunt/tensor/tensor_new.h>
#include <shunt/trace/trace.h>
#include <shunt/transforms/autocast.h>
#include <shunt/transforms/grad_transforms.h>
#include <shunt/transforms/vmap.h>
