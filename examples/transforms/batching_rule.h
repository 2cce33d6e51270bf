// The part of examples/transforms with a custom operator.
#pragma once

/// An operator with a gradient and a batching rule: vmap and grad run it once for a batch.
void batchingRule();
