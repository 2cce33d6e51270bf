// vmap: a function of one sample, run for a batch of them at once.
//
//   auto distances = shunt::vmap([](const Tensor& a, const Tensor& b) { return (a - b).square().sum(); },
//                                {.in_dims = {0, std::nullopt}});
//   Tensor d = distances(points, origin);        // points [n, 3], origin [3]; d [n]
//
// Each operator that the function calls runs once for the whole batch, by a rule for the operator; docs/operators.md
// says which operators have one. What has none is called once for each sample, with a warning the first time. vmap and
// the transforms of grad_transforms.h nest in any order.
//
// A transformed function may be called on any thread, and by several at once if the function that it holds may. The
// tensors that a function gets are good until it returns: a copy that it left somewhere is an error where it is used.
#pragma once

#include <shunt/transforms/functionalize.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace shunt {

/// What random operators do inside vmap.
enum class Randomness : uint8_t {
  kError,      // throw
  kSame,       // draw the same numbers for each sample
  kDifferent,  // draw others for each sample
};

/// Where the batch is in arguments and results, and what random operators do.
struct VmapOptions {
  /// For each argument the dimension that is the batch; nullopt where every sample gets the whole argument, as
  /// arguments without tensors must have. Empty: 0 for all arguments with tensors. A dimension holds for all tensors in
  /// an argument; negative ones count from the end.
  std::vector<std::optional<int64_t>> in_dims = {};
  /// Where results have the batch: one dimension for all of their tensors, or one for each.
  std::vector<int64_t> out_dims = {0};
  Randomness randomness = Randomness::kError;
  /// At most so many samples at once; 0: all.
  int64_t chunk_size = 0;
};

namespace detail {

/// One call of a vmapped function: the batch's size, and the level while a chunk of it runs.
class SHUNT_API VmapCall {
 public:
  /// `holds_tensors`: of each argument. Both are to outlive the call.
  VmapCall(const VmapOptions& options, std::span<const bool> holds_tensors);
  ~VmapCall();
  VmapCall(const VmapCall&) = delete;
  VmapCall& operator=(const VmapCall&) = delete;

  /// A tensor of an argument, before the first chunk. Throws where its dimension doesn't exist or its size differs.
  void measure(size_t argument, const Tensor& t);
  /// How many chunks there are. Throws where nothing is batched.
  int64_t chunks();
  /// Between these two runs the function, on what wrap() gives.
  void enter(int64_t chunk);
  void leave() noexcept;
  Tensor wrap(size_t argument, const Tensor& t) const;
  /// Whether results have the batch at dimensions of their own, so that unwrap() needs to know how many there are.
  bool countsResults() const;
  /// A result's `position`-th tensor of `count`, with the batch at its place. After leave().
  Tensor unwrap(const Tensor& t, size_t position, size_t count) const;
  /// The results of all chunks at this position.
  Tensor join(const std::vector<Tensor>& chunks, size_t position, size_t count) const;

 private:
  struct State;
  State& state() const;
  // Here instead of in a block of its own: a call of one operator would take half as long again.
  alignas(8) mutable std::byte bytes_[256];
};

/// Calls leave() at the end of a scope.
template <class Call>
struct LeaveAtEnd {
  Call& call;
  ~LeaveAtEnd() { call.leave(); }
};

template <class T>
constexpr bool holdsTensors() {
  using Value = std::remove_cvref_t<T>;
  return TensorsIn<Value>::kAny || std::is_same_v<Value, TensorList> || std::is_convertible_v<Value, Tensor>;
}

/// A transform's argument with f(const Tensor&) -> Tensor in the place of each tensor. What holds none stays.
template <class T, class F>
decltype(auto) mapArgument(T&& value, F&& f) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Value, TensorList>) {
    return TensorsIn<std::vector<Tensor>>::map(std::vector<Tensor>(value.begin(), value.end()), f);
  } else if constexpr (TensorsIn<Value>::kAny) {
    return TensorsIn<Value>::map(value, f);
  } else if constexpr (std::is_convertible_v<Value, Tensor>) {
    return TensorsIn<Tensor>::map(static_cast<Tensor>(value), f);
  } else {
    static_assert(
        !isOtherContainerOfTensors<Value>(),
        "an argument is a container of tensors that transforms can't look into; pass a Tensor, TensorList, or "
        "optional, vector, array, pair or tuple of them");
    return std::forward<T>(value);
  }
}

/// Every defined tensor of a result, in order.
template <class R>
std::vector<Tensor> tensorsOf(const R& result) {
  std::vector<Tensor> all;
  auto add = [&](const Tensor& t) {
    all.push_back(t);
    return t;
  };
  TensorsIn<R>::map(result, add);
  return all;
}

template <class R>
constexpr void checkTransformResult() {
  static_assert(TensorsIn<R>::kAny,
                "a transformed function has to return tensors: a Tensor, or optional, vector, array, pair or tuple of "
                "them, by value");
}

}  // namespace detail

/// A function that takes the arguments of `f` with a batch dimension more (options.in_dims) and returns what `f`
/// returns for each sample, stacked (options.out_dims). `f` takes and returns Tensor, or optional, vector, array, pair
/// or tuple of them; other arguments are passed as they are. A result that doesn't depend on the batch is repeated, an
/// undefined one stays undefined.
/// Throws where no argument has a batch, sizes of the batch differ, a dimension doesn't exist, or `f` throws; the
/// thread's levels are then as they were. Inside, an error: in place on a tensor without batch with an operand that has
/// one, out= forms, item(), random operators unless options.randomness allows them, a wrapper that has left its vmap.
template <class F>
auto vmap(F f, VmapOptions options = {}) {
  return [f = std::move(f), options = std::move(options)]<class... Args>(Args&&... args) {
    static constexpr std::array<bool, sizeof...(Args)> kHoldTensors = {detail::holdsTensors<Args>()...};
    detail::VmapCall call(options, kHoldTensors);
    size_t at = 0;
    const auto measure = [&](const auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Tensor>)
        call.measure(at, value);
      else
        detail::mapArgument(value, [&](const Tensor& t) { return call.measure(at, t), t; });
      ++at;
    };
    (measure(args), ...);
    const auto run = [&](int64_t chunk) {
      call.enter(chunk);
      const detail::LeaveAtEnd<detail::VmapCall> leave{call};
      size_t i = 0;
      const auto wrap = [&]<class T>(T&& value) -> decltype(auto) {
        const size_t argument = i++;
        return detail::mapArgument(std::forward<T>(value), [&](const Tensor& t) { return call.wrap(argument, t); });
      };
      using Result = std::remove_cvref_t<decltype(f(wrap(args)...))>;
      // Braces evaluate from the left, so that `i` counts the arguments in order.
      const std::tuple<decltype(wrap(args))...> wrapped{wrap(args)...};
      return std::apply([&](auto&&... values) -> Result { return std::invoke(f, values...); }, wrapped);
    };
    using Result = std::remove_cvref_t<decltype(run(0))>;
    detail::checkTransformResult<Result>();
    const int64_t n = call.chunks();
    Result first = run(0);
    if (n == 1) {
      const size_t count = call.countsResults() ? detail::tensorsOf(first).size() : 0;
      size_t p = 0;
      auto unwrap = [&](const Tensor& t) { return call.unwrap(t, p++, count); };
      return detail::TensorsIn<Result>::map(first, unwrap);
    }
    std::vector<std::vector<Tensor>> parts;  // by position, then by chunk
    const auto keep = [&](const Result& result) {
      const std::vector<Tensor> tensors = detail::tensorsOf(result);
      if (parts.empty()) parts.resize(tensors.size());
      SHUNT_CHECK(parts.size() == tensors.size(), "vmap: the function returned ", parts.size(),
                  " tensors for the first chunk of samples and ", tensors.size(), " for a later one");
      for (size_t p = 0; p < tensors.size(); ++p) parts[p].push_back(call.unwrap(tensors[p], p, tensors.size()));
    };
    keep(first);
    for (int64_t chunk = 1; chunk < n; ++chunk) keep(run(chunk));
    size_t p = 0;
    auto join = [&](const Tensor&) {
      const size_t position = p++;
      return call.join(parts[position], position, parts.size());
    };
    return detail::TensorsIn<Result>::map(first, join);
  };
}

/// How often rules, and the fallback that calls an operator for each sample, have served vmap in this process.
struct VmapCounters {
  uint64_t rules, fallbacks;
};
/// Counts of this thread since it began.
SHUNT_API VmapCounters vmap_counters();

}  // namespace shunt
