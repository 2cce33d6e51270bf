// The header for programs: tensors, operators, autograd, modes, tensor subclasses, transforms, graphs, compiled
// functions, registration, operators from functors, loaded libraries and backends, and the compiler's reports.
//
// It leaves out headers that few programs need (for plans over other libraries' memory, lookups by name, drawings of
// graphs, batching rules), and those that Shunt's libraries share:
//   autograd     accumulate_grad, as_strided_backward, current_run, graph_tensor
//   compile      host_plan, try_again
//   core         annotate, by_name, complete_arguments, dangling, environment, file_size_signal, fork, isa, missed_call
//   core         near_names, stack_trace, stand_in, system_info, thread_signals, wrap_dim
//   elementwise  cast_loop, layer_norm, matrix_product, mse_loss, nll_loss, recorded_loop, reduction, row_loop
//   jit          fused_loop, kernel_library, provider, tier
//   tensor       asked, expand_utils, memory_overlap, storage_pin, wrapper_kind
//   trace        dot
//   transforms   batching
#pragma once

#include <shunt/autograd/anomaly_mode.h>
#include <shunt/autograd/autograd.h>
#include <shunt/autograd/gradcheck.h>
#include <shunt/autograd/not_implemented.h>
#include <shunt/autograd/saved_tensor_hooks.h>
#include <shunt/backend.h>
#include <shunt/compile/compile.h>
#include <shunt/core/dict.h>
#include <shunt/core/dispatcher.h>
#include <shunt/core/interrupt.h>
#include <shunt/core/library.h>
#include <shunt/core/list.h>
#include <shunt/core/load_library.h>
#include <shunt/core/log.h>
#include <shunt/core/parallel.h>
#include <shunt/core/stack_tensors.h>
#include <shunt/core/tls.h>
#include <shunt/device/cuda.h>
#include <shunt/elementwise/library.h>
#include <shunt/files/files.h>
#include <shunt/interpose/dispatch_mode.h>
#include <shunt/interpose/kernel_class.h>
#include <shunt/interpose/tensor_subclass.h>
#include <shunt/jit/budget.h>
#include <shunt/jit/cache.h>
#include <shunt/jit/explain.h>
#include <shunt/jit/jit.h>
#include <shunt/ops.h>
#include <shunt/tensor/dlpack.h>
#include <shunt/tensor/tensor.h>
#include <shunt/tensor/tensor_index.h>
#include <shunt/tensor/tensor_new.h>
#include <shunt/trace/trace.h>
#include <shunt/transforms/autocast.h>
#include <shunt/transforms/fake_tensor.h>
#include <shunt/transforms/functionalize.h>
#include <shunt/transforms/grad_transforms.h>
#include <shunt/transforms/vmap.h>
#include <shunt/version.h>
