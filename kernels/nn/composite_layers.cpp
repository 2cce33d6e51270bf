// Normalisations, attention, cells of recurrent networks and rearranged images, made of other operators: so autograd,
// autocast and modes see those.
#include "generated/native_functions.h"
#include "kernels/common/view_util.h"

#include <shunt/ops.h>
#include <shunt/tensor/wrapper_kind.h>

#include <cmath>
#include <limits>

namespace shunt::native {
namespace {

using Optional = std::optional<Tensor>;

bool isGiven(const Optional& t) { return t && t->defined(); }

/// (1, channels, 1, ...): a vector of channels beside images of so many dimensions.
std::vector<int64_t> channelShape(int64_t channels, int64_t dims) {
  std::vector<int64_t> shape(static_cast<size_t>(dims), 1);
  shape[1] = channels;
  return shape;
}

void checkOfChannels(const char* name, const Optional& t, int64_t channels, const Tensor& input) {
  if (!isGiven(t)) return;
  SHUNT_CHECK(t->dim() == 1 && t->numel() == channels, "Expected ", name,
              " to be a vector of size equal to the number of channels in input, but got ", name, " of shape ",
              t->sizes(), " and input of shape ", input.sizes());
}

/// What is added to the scores: minus infinity where a mask of bools is false. Undefined for nothing.
Tensor addedMask(const Tensor& query, const Tensor& key, const Optional& mask, bool is_causal) {
  SHUNT_CHECK(!is_causal || !isGiven(mask),
              "scaled_dot_product_attention(): Explicit attn_mask should not be set when is_causal=True");
  if (isGiven(mask)) {
    const ScalarType dtype = mask->scalar_type();
    SHUNT_CHECK(dtype == kBool || dtype == kFloat || dtype == query.scalar_type(),
                "scaled_dot_product_attention(): expected attn_mask to be of dtype Bool or Float, or of query's (",
                query.scalar_type(), "), but got ", dtype);
  }
  if (!is_causal && (!isGiven(mask) || mask->scalar_type() != kBool)) return isGiven(mask) ? *mask : Tensor();
  const Tensor seen =
      is_causal ? shunt::tril(query.new_ones({query.size(-2), key.size(-2)}, TensorOptions(kBool))) : *mask;
  return seen.new_zeros(seen.sizes(), TensorOptions(query.scalar_type()))
      .masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
}

/// Each head, in dimension -3, so often that there are as many as `query` has.
Tensor repeatedHeads(const Tensor& query, const Tensor& x) {
  SHUNT_CHECK(query.dim() >= 3 && x.dim() >= 3 && x.size(-3) != 0 && query.size(-3) % x.size(-3) == 0,
              "scaled_dot_product_attention(): enable_gqa expects the query's number of heads to be a multiple of the "
              "key's and value's, but got ",
              query.sizes(), " and ", x.sizes());
  const int64_t times = query.size(-3) / x.size(-3);
  if (times == 1) return x;
  std::vector<int64_t> wide(x.sizes().begin(), x.sizes().end()), result = wide;
  wide.insert(wide.end() - 2, times);
  result[result.size() - 3] *= times;
  return x.unsqueeze(-3).expand(wide).reshape(result);
}

void checkCell(const char* name, const Tensor& input, const Tensor& hidden) {
  implOf(input, name, "input");
  implOf(hidden, name, "hx");
  SHUNT_CHECK((input.dim() == 1 || input.dim() == 2) && hidden.dim() == input.dim(), name,
              "(): expected input and hx of 1 or 2 dimensions, both the same, but got ", input.sizes(), " and ",
              hidden.sizes());
  SHUNT_CHECK(input.dim() == 1 || input.size(0) == hidden.size(0), name, "(): Input batch size ", input.size(0),
              " doesn't match hidden0 batch size ", hidden.size(0));
}

/// The sums of both products, gate by gate: `gates` parts of (N, hidden) or (hidden).
struct Gates {
  std::vector<Tensor> of_input, of_hidden;
};
Gates gatesOf(const char* name, const Tensor& input, const Tensor& hidden, const Tensor& w_ih, const Tensor& w_hh,
              const Optional& b_ih, const Optional& b_hh, int64_t gates) {
  checkCell(name, input, hidden);
  const int64_t rows = gates * hidden.size(-1);
  for (const Tensor* w : {&w_ih, &w_hh})
    SHUNT_CHECK(implOf(*w, name, "weights").dim() == 2 && w->size(0) == rows, name, "(): expected weights of ", rows,
                " rows for a hidden size of ", hidden.size(-1), ", but got ", w->sizes());
  return {shunt::chunk(shunt::linear(input, w_ih, b_ih), gates, -1),
          shunt::chunk(shunt::linear(hidden, w_hh, b_hh), gates, -1)};
}

struct Blocks {
  std::vector<int64_t> lead;
  int64_t channels, height, width;
};
Blocks blocksOf(const char* name, const char* argument, const Tensor& self, int64_t factor) {
  SHUNT_CHECK(self.dim() >= 3, name, " expects input to have at least 3 dimensions, but got input with ", self.dim(),
              " dimension(s)");
  SHUNT_CHECK(factor > 0 && factor <= std::numeric_limits<int32_t>::max(), name, " expects a positive ", argument,
              " of 32 bits, but got ", factor);
  return {{self.sizes().begin(), self.sizes().end() - 3}, self.size(-3), self.size(-2), self.size(-1)};
}

/// x with its last five dimensions in another order; `order` counts from the first of them.
Tensor permuteLast(const Tensor& x, std::initializer_list<int64_t> order) {
  std::vector<int64_t> dims;
  const int64_t lead = x.dim() - static_cast<int64_t>(order.size());
  for (int64_t d = 0; d < lead; ++d) dims.push_back(d);
  for (const int64_t d : order) dims.push_back(lead + d);
  return x.permute(dims);
}

std::vector<int64_t> joined(std::vector<int64_t> lead, std::initializer_list<int64_t> rest) {
  lead.insert(lead.end(), rest);
  return lead;
}

}  // namespace

Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, bool) {
  if (!isFloatingType(implOf(input, "group_norm", "input").dtype()))
    detail::throwNotImplementedFor("group_norm", input.scalar_type());
  SHUNT_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim());
  const int64_t samples = input.size(0), channels = input.size(1);
  SHUNT_CHECK(num_groups > 0 && channels % num_groups == 0,
              "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
              input.sizes(), " and num_groups=", num_groups);
  checkOfChannels("weight", weight, channels, input);
  checkOfChannels("bias", bias, channels, input);
  Tensor result = input.clone();
  if (input.numel() != 0) {
    const int64_t size = input.numel() / (samples * num_groups);
    const Tensor groups = input.contiguous().reshape({samples, num_groups, size});
    result = shunt::layer_norm(groups, {size}, std::nullopt, std::nullopt, eps).reshape(input.sizes());
  }
  const std::vector<int64_t> shape = channelShape(channels, input.dim());
  if (isGiven(weight)) result = result.mul(weight->reshape(shape));
  if (isGiven(bias)) result = result.add(bias->reshape(shape));
  return result.to(input.scalar_type());  // of 16 bits, beside parameters of float32
}

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const std::optional<Tensor>& weight,
                std::optional<double> eps) {
  if (!isFloatingType(implOf(input, "rms_norm", "input").dtype()))
    detail::throwNotImplementedFor("rms_norm", input.scalar_type());
  const auto count = static_cast<int64_t>(normalized_shape.size());
  SHUNT_CHECK(count > 0,
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
              "normalized_shape = ",
              normalized_shape);
  SHUNT_CHECK(!isGiven(weight) || weight->sizes() == normalized_shape,
              "Expected weight to be of same shape as normalized_shape, but got weight of shape ",
              isGiven(weight) ? weight->sizes() : IntArrayRef(), " and normalized_shape = ", normalized_shape);
  SHUNT_CHECK(input.dim() >= count && input.sizes().slice(static_cast<size_t>(input.dim() - count)) == normalized_shape,
              "Given normalized_shape=", normalized_shape, ", expected input with shape [*, ", normalized_shape,
              "], but got input of size", input.sizes());
  const ScalarType dtype = input.scalar_type();
  const bool narrow = dtype == kHalf || dtype == kBFloat16;
  const Tensor x = narrow ? input.to(kFloat) : input;
  std::vector<int64_t> dims;
  for (int64_t d = -count; d < 0; ++d) dims.push_back(d);
  const double least = eps.value_or(x.scalar_type() == kDouble ? 0x1p-52 : 0x1p-23);
  Tensor result = x.mul(x.mul(x).mean(dims, true).add(least).rsqrt());
  if (isGiven(weight)) result = result.mul(*weight);
  return result.to(dtype);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  constexpr const char* kName = "scaled_dot_product_attention";
  implOf(query, kName, "query");
  implOf(key, kName, "key");
  implOf(value, kName, "value");
  SHUNT_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, kName,
              "(): expected query, key and value of at least 2 dimensions, but got ", query.dim(), ", ", key.dim(),
              " and ", value.dim());
  SHUNT_CHECK(query.scalar_type() == key.scalar_type() && query.scalar_type() == value.scalar_type(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.scalar_type(),
              " key.dtype: ", key.scalar_type(), " and value.dtype: ", value.scalar_type(), " instead.");
  const Tensor keys = enable_gqa ? repeatedHeads(query, key) : key;
  const Tensor values = enable_gqa ? repeatedHeads(query, value) : value;
  const Tensor mask = addedMask(query, keys, attn_mask, is_causal);
  // Half of the factor on each side keeps the products of 16-bit types small.
  const double whole = scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
  const double factor = std::sqrt(std::abs(whole));
  Tensor scores = query.mul(whole < 0 ? -factor : factor).matmul(keys.transpose(-2, -1).mul(factor));
  if (mask.defined()) scores = scores.add(mask).to(query.scalar_type());  // a float mask of 16-bit scores
  // A row that sees nothing gives zeros, and zeros as gradients.
  Tensor blind;
  if (isGiven(attn_mask)) {
    blind = scores.eq(-std::numeric_limits<double>::infinity()).all(-1, true);
    scores = scores.masked_fill(blind, 0);
  }
  Tensor weights = shunt::softmax(scores, -1);
  if (blind.defined()) weights = weights.masked_fill(blind, 0);
  if (dropout_p > 0) weights = shunt::dropout(weights, dropout_p, true);
  return weights.matmul(values);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih, const Tensor& w_hh,
                                     const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  SHUNT_CHECK(hx.size() == 2, "lstm_cell expects two hidden states, but got ", hx.size());
  checkCell("lstm_cell", input, hx[1]);
  SHUNT_CHECK(hx[1].sizes() == hx[0].sizes(), "lstm_cell(): expected hidden states of one shape, but got ",
              hx[0].sizes(), " and ", hx[1].sizes());
  const Gates g = gatesOf("lstm_cell", input, hx[0], w_ih, w_hh, b_ih, b_hh, 4);
  const auto gate = [&](size_t i) { return g.of_input[i].add(g.of_hidden[i]); };
  const Tensor cell = gate(1).sigmoid().mul(hx[1]).add(gate(0).sigmoid().mul(gate(2).tanh()));
  return {gate(3).sigmoid().mul(cell.tanh()), cell};
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  const Gates g = gatesOf("gru_cell", input, hx, w_ih, w_hh, b_ih, b_hh, 3);
  const Tensor reset = g.of_hidden[0].add(g.of_input[0]).sigmoid();
  const Tensor update = g.of_hidden[1].add(g.of_input[1]).sigmoid();
  const Tensor fresh = g.of_input[2].add(g.of_hidden[2].mul(reset)).tanh();
  return hx.sub(fresh).mul(update).add(fresh);
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  const Gates g = gatesOf("rnn_tanh_cell", input, hx, w_ih, w_hh, b_ih, b_hh, 1);
  return g.of_input[0].add(g.of_hidden[0]).tanh();
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh) {
  const Gates g = gatesOf("rnn_relu_cell", input, hx, w_ih, w_hh, b_ih, b_hh, 1);
  return g.of_input[0].add(g.of_hidden[0]).relu();
}

Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor) {
  implOf(self, "pixel_shuffle");
  const int64_t r = upscale_factor;
  const Blocks b = blocksOf("pixel_shuffle", "upscale_factor", self, r);
  SHUNT_CHECK(b.channels % (r * r) == 0,
              "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
              "but input.size(-3)=",
              b.channels, " is not divisible by ", r * r);
  const int64_t channels = b.channels / (r * r);
  const Tensor parts = self.reshape(joined(b.lead, {channels, r, r, b.height, b.width}));
  // A copy, also of factor 1.
  return permuteLast(parts, {0, 3, 1, 4, 2})
      .clone(MemoryFormat::Contiguous)
      .reshape(joined(b.lead, {channels, b.height * r, b.width * r}));
}

Tensor pixel_unshuffle(const Tensor& self, int64_t downscale_factor) {
  implOf(self, "pixel_unshuffle");
  const int64_t r = downscale_factor;
  const Blocks b = blocksOf("pixel_unshuffle", "downscale_factor", self, r);
  SHUNT_CHECK(b.height % r == 0, "pixel_unshuffle expects height to be divisible by downscale_factor, but ", b.height,
              " is not divisible by ", r);
  SHUNT_CHECK(b.width % r == 0, "pixel_unshuffle expects width to be divisible by downscale_factor, but ", b.width,
              " is not divisible by ", r);
  const Tensor parts = self.reshape(joined(b.lead, {b.channels, b.height / r, r, b.width / r, r}));
  return permuteLast(parts, {0, 2, 4, 1, 3})
      .clone(MemoryFormat::Contiguous)
      .reshape(joined(b.lead, {b.channels * r * r, b.height / r, b.width / r}));
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  SHUNT_CHECK(implOf(self, "one_hot").dtype() == kLong,
              "one_hot is only applicable to index tensor of type LongTensor, but got ", self.scalar_type());
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  if (self.numel() == 0) {
    SHUNT_CHECK(num_classes > 0, "Can not infer total number of classes from empty tensor.");
    sizes.push_back(num_classes);
    return shunt::zeros(sizes, self.options());
  }
  SHUNT_CHECK(num_classes == -1 || num_classes > 0, "num_classes should be positive");
  // Inside vmap and traces there is no value to read, and no need with a number of classes.
  const bool readable = !self.is_meta() && wrapperKind(self) == WrapperKind::kNone;
  if (readable || (num_classes == -1 && !self.is_meta())) {
    SHUNT_CHECK(self.min().item().toLong() >= 0, "Class values must be non-negative.");
    const int64_t most = self.max().item().toLong();
    if (num_classes == -1) num_classes = most + 1;
    SHUNT_CHECK(most < num_classes, "Class values must be smaller than num_classes.");
  }
  SHUNT_CHECK(num_classes > 0, "one_hot(): expected num_classes for a tensor without data");
  sizes.push_back(num_classes);
  return shunt::zeros(sizes, self.options()).scatter(-1, self.unsqueeze(-1), 1);
}

}  // namespace shunt::native
