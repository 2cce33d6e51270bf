#include "src/transforms/vmap/levels.h"

#include <shunt/core/wrap_dim.h>
#include <shunt/ops.h>
#include <shunt/transforms/functionalize.h>

#include <algorithm>
#include <memory>
#include <new>

namespace shunt::detail {

using levels::Kind;
using levels::Level;
using levels::LevelFrame;

struct VmapCall::State {
  const VmapOptions& options;
  std::span<const bool> holds_tensors;
  State(const VmapOptions& options, std::span<const bool> holds_tensors)
      : options(options), holds_tensors(holds_tensors) {}

  std::optional<int64_t> size;  // of the whole batch
  size_t first = 0;             // the argument that said so
  std::optional<Level> level;   // of the chunk that runs, or ran last
  std::optional<LevelFrame> frame;
  int64_t begin = 0;  // of the chunk

  /// Of an argument, where it has a batch.
  std::optional<int64_t> inDim(size_t argument) const {
    if (!options.in_dims.empty()) return options.in_dims[argument];
    return holds_tensors[argument] ? std::optional<int64_t>(0) : std::nullopt;
  }
  int64_t chunkSize() const { return options.chunk_size > 0 ? std::min(options.chunk_size, *size) : *size; }
  int64_t outDim(size_t position, size_t count) const {
    SHUNT_CHECK(options.out_dims.size() == 1 || options.out_dims.size() == count, "vmap: out_dims has ",
                options.out_dims.size(), " dimensions, and the function returned ", count,
                " tensors: expected one dimension for all of them, or one for each");
    return options.out_dims.size() == 1 ? options.out_dims[0] : options.out_dims[position];
  }
};

namespace {

void checkInDims(const std::vector<std::optional<int64_t>>& dims, std::span<const bool> holds_tensors) {
  if (dims.empty()) return;
  const size_t n = holds_tensors.size();
  SHUNT_CHECK(dims.size() == n, "vmap: in_dims has ", dims.size(), " entries, and the function was called with ", n,
              " arguments: expected one for each, nullopt where the argument has no batch");
  for (size_t i = 0; i < n; ++i)
    SHUNT_CHECK(!dims[i] || holds_tensors[i], "vmap: in_dims[", i, "] is ", *dims[i], ", but argument ", i,
                " holds no tensor: expected nullopt");
}

}  // namespace

VmapCall::VmapCall(const VmapOptions& options, std::span<const bool> holds_tensors) {
  SHUNT_CHECK(options.chunk_size >= 0, "vmap: chunk_size is ", options.chunk_size, ": expected 0 (all) or more");
  SHUNT_CHECK(!options.out_dims.empty(), "vmap: out_dims is empty: expected one dimension at least");
  checkInDims(options.in_dims, holds_tensors);
  static_assert(sizeof(State) <= sizeof bytes_ && alignof(State) <= 8);
  new (bytes_) State(options, holds_tensors);
}

VmapCall::State& VmapCall::state() const { return *std::launder(reinterpret_cast<State*>(bytes_)); }

VmapCall::~VmapCall() { std::destroy_at(&state()); }

bool VmapCall::countsResults() const { return state().options.out_dims.size() != 1; }

void VmapCall::measure(size_t argument, const Tensor& t) {
  const auto dim = state().inDim(argument);
  if (!dim) return;
  SHUNT_CHECK(t.defined(), "vmap: argument ", argument,
              " is an undefined tensor, which has no batch: expected a tensor with dimension ", *dim,
              ", or nullopt in in_dims for this argument");
  SHUNT_CHECK_INDEX(*dim >= -t.dim() && *dim < t.dim(), "vmap: in_dims[", argument, "] is ", *dim, ", but argument ",
                    argument, " has a tensor of shape ", t.sizes(),
                    t.dim() == 0 ? ", which has no dimension to be the batch"
                                 : str(": expected a dimension in [", -t.dim(), ", ", t.dim() - 1, "]"));
  const int64_t size = t.size(*dim);
  if (!state().size) {
    state().size = size;
    state().first = argument;
  }
  SHUNT_CHECK(size == *state().size, "vmap: argument ", argument, " has a batch of ", size, " samples (dimension ",
              *dim, " of a tensor of shape ", t.sizes(), "), and argument ", state().first, " has one of ",
              *state().size, ": all batches have to be of the same size");
}

int64_t VmapCall::chunks() {
  SHUNT_CHECK(state().size.has_value(),
              "vmap: no argument has a batch: in_dims has to name a dimension of one tensor at least");
  const int64_t chunk = state().chunkSize();
  return chunk == 0 ? 1 : (*state().size + chunk - 1) / chunk;
}

void VmapCall::enter(int64_t chunk) {
  State& s = state();
  s.begin = chunk * s.chunkSize();
  s.level.emplace(Kind::kVmap);
  s.level->size = std::min(s.chunkSize(), *s.size - s.begin);
  s.level->whole_size = *s.size;
  s.level->randomness = s.options.randomness;
  s.frame.emplace(*s.level);
}

void VmapCall::leave() noexcept { state().frame.reset(); }

Tensor VmapCall::wrap(size_t argument, const Tensor& t) const {
  const State& s = state();
  const auto dim = s.inDim(argument);
  if (!dim) return t;
  const int64_t d = maybe_wrap_dim(*dim, t.dim());
  Tensor value = t;
  if (s.level->isChunk()) {
    const levels::Outside outside;
    value = ops::narrow::call(t, d, s.begin, s.level->size);
  }
  return levels::makeBatched(*s.level, std::move(value), d);
}

Tensor VmapCall::unwrap(const Tensor& t, size_t position, size_t count) const {
  const State& s = state();
  const int64_t out_dim = s.outDim(position, count);
  SHUNT_CHECK_INDEX(out_dim >= -t.dim() - 1 && out_dim <= t.dim(), "vmap: out_dims names dimension ", out_dim,
                    " for result ", position, ", a tensor of shape ", t.sizes(), ": expected one in [", -t.dim() - 1,
                    ", ", t.dim(), "]");
  const int64_t d = out_dim < 0 ? out_dim + t.dim() + 1 : out_dim;
  if (!levels::belongsTo(t, *s.level)) {
    SHUNT_CHECK(!levels::isAround(t, *s.level), "vmap: result ", position, " of the function, ", t.sizes(), ", is a ",
                is_functional(t) ? "functional tensor" : "TensorSubclass",
                " around a batched tensor: return what it holds (", is_functional(t) ? "from_functional" : "unwrap",
                ")");
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes.insert(sizes.begin() + d, s.level->size);
    return ops::expand::call(ops::unsqueeze::call(t, d), sizes, false);
  }
  levels::WrapperStorage& storage = levels::storageOf(t);
  // Of a wrapper that ends here the value needn't be counted.
  const bool ends = t.use_count() == 1 && t.unsafeGetTensorImpl()->storage().use_count() == 1;
  if (storage.batch_dim == d) return ends ? std::move(storage.value) : storage.value;
  std::vector<int64_t> order;
  for (int64_t i = 0; i < storage.value.dim(); ++i)
    if (i != storage.batch_dim) order.push_back(i);
  order.insert(order.begin() + d, storage.batch_dim);
  return ops::permute::call(storage.value, order);
}

Tensor VmapCall::join(const std::vector<Tensor>& chunks, size_t position, size_t count) const {
  if (chunks.size() == 1) return chunks[0];
  return ops::cat::call(chunks, state().outDim(position, count));
}

}  // namespace shunt::detail
