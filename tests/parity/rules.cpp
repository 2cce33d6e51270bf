#include "tests/parity/rules.h"

namespace parity {
namespace {

constexpr Rule kRules[] = {
    // Division: libtorch traps on INT_MIN / -1.
    {"div.*_mode", "%", kNoExtremes},
    {"floor_divide*", "%", kNoExtremes},
    {"remainder*", "%", kNoExtremes},
    {"fmod*", "%", kNoExtremes},
    {"bitwise_*", "%", kNoGradForm},
    {"where.", "A"},
    {"where*", "M % %"},
    {"masked_fill*", "F M D"},
    {"lerp*", "% % %", kSameDtypes},
    {"*_backward", "@ @", kSameDtypes},
    // Matrix products.
    {"mm", "nk km", kAccumulates | kSameDtypes},
    {"bmm", "bnk bkm", kAccumulates | kSameDtypes},
    {"addmm", "~nm nk km", kAccumulates | kSameDtypes},
    {"baddbmm", "~bnm bnk bkm", kAccumulates | kSameDtypes},
    {"dot", "k k", kAccumulates | kSameDtypes},
    {"mv", "nk k", kAccumulates | kSameDtypes},
    {"outer", "n m"},
    {"matmul", "k k|nk k|k km|nk km|*nk km|*nk ^km|nk *km|k *km|*nk k", kAccumulates | kSameDtypes},
    {"linear", "nk mk m|*k mk m|k mk m|nk k D", kAccumulates | kSameDtypes},
    // Factors of matrices. Values depend on the LAPACK, by as much as the matrix' condition; info and infinities, too.
    {"*linalg_*det", "nn|bnn", kMetadataOnly | kSameDtypes | kRarelyRuns},
    {"linalg_cholesky*", "nn|bnn", kMetadataOnly | kSameDtypes | kProbabilities | kRarelyRuns},
    {"linalg_inv*", "nn|bnn", kMetadataOnly | kSameDtypes | kRarelyRuns},
    {"linalg_solve_triangular", "nn nn|nn nk|bnn bnk|nn bnk", kMetadataOnly | kSameDtypes | kRarelyRuns},
    {"*linalg_solve*", "nn n|nn nn|nn nk|bnn bn|bnn bnk|nn bnk", kMetadataOnly | kSameDtypes | kRarelyRuns},
    // Reductions.
    {"sum*", "A", kAccumulates},
    {"mean*", "A", kAccumulates},
    {"prod*", "A", kAccumulates},
    {"amax", "A"},
    {"amin", "A"},
    {"argm*", "A"},
    {"all*", "A"},
    {"any*", "A"},
    {"logsumexp", "A", kAccumulates},
    {"var*", "A", kAccumulates},
    {"std*", "A", kAccumulates},
    {"norm*", "A", kAccumulates},
    {"linalg_vector_norm", "A", kAccumulates},
    {"cumsum", "A", kAccumulates},
    {"cumprod", "A", kAccumulates},
    {"trace", "nk", kAccumulates},
    {"sort", "A"},
    {"argsort", "A"},
    {"max.other", "%"},
    {"min.other", "%"},
    {"max.out", "%"},
    {"min.out", "%"},
    {"max*", "A"},
    {"min*", "A"},
    {"maximum", "%"},
    {"minimum", "%"},
    // Losses.
    {"*softmax*", "A A", kAccumulates | kNoOverlap},
    {"*softmax_backward_data", "A @", kAccumulates | kSameDtypes | kNoOverlap},
    {"nll_loss", "nc C W|c C W", kAccumulates | kSameDtypes},
    {"nll_loss_nd", "nc C W|c C W|ncx C W|ncxy C W", kAccumulates | kSameDtypes},
    {"nll_loss_forward", "nc C W|c C W", kAccumulates | kSameDtypes},
    {"nll_loss_backward", "G nc C W Q|G c C W Q", kAccumulates | kSameDtypes},
    {"cross_entropy_loss", "nc C W|c C W|ncx C W|nc @ W|ncx @ W|c @ W", kAccumulates | kSameDtypes},
    {"mse_loss", "% %", kAccumulates},
    {"l1_loss", "% %", kAccumulates},
    {"binary_cross_entropy_with_logits", "% % % %", kAccumulates | kSameDtypes},
    {"mse_loss_backward", "G % %", kAccumulates | kSameDtypes},
    {"layer_norm", "A N N", kAccumulates | kSameDtypes},
    {"native_layer_norm", "A N N", kAccumulates | kSameDtypes},
    {"native_layer_norm_backward", "A @ T T N N", kAccumulates | kSameDtypes},
    {"smooth_l1_loss", "% %", kAccumulates},
    {"smooth_l1_loss_backward", "G % %", kAccumulates | kSameDtypes},
    {"huber_loss", "% %", kAccumulates},
    {"huber_loss_backward", "G % %", kAccumulates | kSameDtypes},
    {"batch_norm", "nc c c W W|ncx c c W W|ncxy c c W W", kAccumulates | kSameDtypes},
    {"native_batch_norm", "pc c c W W|pcq c c W W|pcqr c c W W", kAccumulates | kSameDtypes | kNoInvalid},
    {"native_batch_norm_backward", "pc @ c W W W W|pcq @ c W W W W|pcqr @ c W W W W",
     kAccumulates | kSameDtypes | kNoInvalid},
    // Images.
    {"conv*", "U H E", kAccumulates | kSameDtypes},
    {"convolution_backward", "O U H", kAccumulates | kSameDtypes | kNoInvalid},
    {"*max_pool2d*", "U"},
    {"max_pool2d_with_indices_backward", "O U J", kSameDtypes | kNoInvalid},
    {"*avg_pool2d", "U", kAccumulates},
    {"*avg_pool2d_backward", "O U", kAccumulates | kSameDtypes | kNoInvalid},
    {"dropout", "A", kMetadataOnly},
    // libtorch reads the first element, whatever the shape, also where there is none.
    {"_local_scalar_dense", "D", kNoInvalid},
    // Composites of layers. A hidden size of 1, which the gates multiply.
    {"group_norm", "nc c c|ncx c c|ncxy c c", kAccumulates | kSameDtypes},
    {"cosine_similarity", "% %", kAccumulates | kSameDtypes},
    {"kl_div", "% %", kAccumulates | kSameDtypes},
    {"binary_cross_entropy", "% % %", kAccumulates | kSameDtypes | kProbabilities},
    {"max_pool1d", "ncx|cx"},
    {"pixel_shuffle", "n4xy|4xy"},
    {"pixel_unshuffle", "nc24|c42"},
    {"one_hot", "A", kProbabilities | kNoGradForm},
    {"lstm_cell", "nk K 4k 41 4 4", kAccumulates | kSameDtypes},
    {"gru_cell", "nk n1 3k 31 3 3", kAccumulates | kSameDtypes},
    {"rnn_*_cell", "nk n1 1k 11 1 1", kAccumulates | kSameDtypes},
    {"multinomial", "nk|k", kMetadataOnly | kProbabilities},
    {"hstack", "K"},
    {"vstack", "K"},
    {"dstack", "K"},
    {"column_stack", "K"},
    {"fliplr", "A"},
    {"flipud", "A"},
    {"repeat_interleave.Tensor*", "n", kProbabilities | kNoGradForm},
    {"repeat_interleave.self_Tensor", "A 1", kProbabilities | kNoGradForm},
    {"repeat_interleave.self_int", "A"},
    {"tile", "A"},
    {"upsample_*1d", "ncx"},
    {"upsample_*2d", "ncxy"},
    // Counts, searches, medians, distinct elements.
    {"bincount", "n n", kProbabilities | kNoGradForm},
    {"searchsorted.Tensor*", "k A|nk nm", kSameDtypes | kNoGradForm},
    {"searchsorted.Scalar*", "k", kNoGradForm},
    {"bucketize.Tensor*", "A k", kSameDtypes | kNoGradForm},
    {"bucketize.Scalar*", "k", kNoGradForm},
    // Of equal elements libtorch names any.
    {"*median.dim*", "A", kMetadataOnly},
    {"*median*", "A"},
    {"_unique2", "A", kNoGradForm},
    {"unique_dim", "nk|nkm", kNoGradForm},
    {"unique_consecutive", "A", kNoGradForm},
    // Shapes.
    {"heaviside", "% %", kSameDtypes},
    {"isclose", "% %", kSameDtypes},
    {"allclose", "% %", kSameDtypes},
    {"equal", "A @|A A", kSameDtypes},
    {"repeat", "A"},
    {"roll", "A"},
    {"diag", "nk|n"},
    {"flip", "A"},
    {"gather", "A X"},
    {"scatter", "A X Y", kSameDtypes},
    {"scatter.*reduce*", "A X Y", kSameDtypes | kAccumulates},
    {"scatter_reduce", "A X Y", kSameDtypes | kAccumulates},
    {"scatter_add", "A X Y", kSameDtypes | kAccumulates},
    {"topk", "A"},
    {"*cross", "3 3|n3 n3|3n 3n|n3 13|nm3 nm3|n3m n3m|3nm 31m", kAccumulates | kSameDtypes},
    {"einsum", "Z", kAccumulates | kSameDtypes},
    {"take_along_dim", "A X"},
    {"nonzero", "A"},
    {"index", "A $"},
    {"index_put", "A $ P", kSameDtypes | kAccumulates},
    {"masked_select", "% M"},
    {"embedding", "nk B"},
    {"tril*", "nk|*nk"},
    {"triu*", "nk|*nk"},
    // libtorch writes beyond out= unless all dimensions but the last two make one.
    {"tril.out", "nk|gnk", kNoOverlap},
    {"triu.out", "nk|gnk", kNoOverlap},
    {"cat", "L"},
    {"stack", "K"},
    {"index_select", "A I"},
    {"index_add", "A I S", kSameDtypes | kAccumulates},
    {"_reshape_alias", "A", kNoInvalid},
    {"diagonal_backward", "V"},
    {"slice_backward", "V"},
    {"select_backward", "V"},
    {"*_scatter", "A V", kCasts},
    {"to*", "A A", kCasts},
    {"_to_copy", "A", kCasts},
    {"type_as", "A A", kCasts},
    {"copy_", "F %", kCasts},
    {"fill.Tensor*", "A D", kCasts},
    {"fill*", "A", kCasts},
    {"view_as", "A R"},
    {"reshape_as", "A R"},
    {"expand_as", "% F"},
    {"sum_to_size", "A", kAccumulates},
    {"resize*", "A A", kMetadataOnly | kNoGradForm},
    {"t", "nk|n|"},
    {"view.dtype", "A", kNoGradForm},
    {"narrow.Tensor", "A Q", kNoGradForm},
    // Factories whose contents nobody promises.
    {"empty*", "A", kMetadataOnly},
    {"new_empty*", "A", kMetadataOnly},
    {"full*", "A", kCasts},
    {"new_full", "A", kCasts},
    {"arange*", "A", kCasts},
    {"linspace*", "A", kCasts},
    {"rand*", "A", kMetadataOnly},
    {"normal*", "A", kMetadataOnly},
    {"uniform", "A", kMetadataOnly},
    {"random", "A", kMetadataOnly},
    {"bernoulli*", "F %", kMetadataOnly | kProbabilities},
};
constexpr Rule kDefault{"*", "%", 0};

}  // namespace

bool globMatches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return globMatches(pattern.substr(1), text) || (!text.empty() && globMatches(pattern, text.substr(1)));
  return !text.empty() && pattern[0] == text[0] && globMatches(pattern.substr(1), text.substr(1));
}

bool anyGlobMatches(std::string_view patterns, std::string_view text) {
  const size_t comma = patterns.find(',');
  std::string_view first = patterns.substr(0, comma);
  while (first.starts_with(' ')) first.remove_prefix(1);
  while (first.ends_with(' ')) first.remove_suffix(1);
  return globMatches(first, text) ||
         (comma != std::string_view::npos && anyGlobMatches(patterns.substr(comma + 1), text));
}

bool isElementwise(const Rule& rule) { return rule.shapes.find_first_not_of("%FMD ") == std::string_view::npos; }

std::string_view baseName(std::string_view name) {
  if (const size_t colons = name.find("::"); colons != std::string_view::npos) name.remove_prefix(colons + 2);
  if (!name.empty() && name.back() == '_') name.remove_suffix(1);
  return name;
}

const Rule& ruleFor(std::string_view name, std::string_view overload) {
  const std::string base(baseName(name));
  const std::string full = base + "." + std::string(overload);
  const Rule* best = &kDefault;
  for (const Rule& rule : kRules) {
    std::string_view op = rule.op;
    if (op.ends_with('_') && !name.ends_with('_')) continue;
    if (op.ends_with('_')) op.remove_suffix(1);
    if (!globMatches(op, base) && !globMatches(op, full)) continue;
    if (best == &kDefault || op.size() > best->op.size()) best = &rule;
  }
  return *best;
}

}  // namespace parity
