// vmap: turns a function of one sample into a function of a batch of samples.
//
//   auto distances = shunt::vmap([](const Tensor& a, const Tensor& b) { return (a - b).square().sum(); },
//                                {.in_dims = {0, std::nullopt}});
//   Tensor d = distances(points, origin);        // points [n, 3], origin [3]; d [n]
//
// Each operator that the function calls runs once for the whole batch, by its batching rule; docs/operators.md lists
// the operators that have one. An operator without a rule is called once for each sample, with a warning the first
// time. vmap and the transforms of grad_transforms.h nest in any order.
//
// Any thread may call a transformed function, several at once if they may call the function itself. The tensors that
// the function gets are valid until it returns. Using a copy later throws.
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
  kDifferent,  // draw different numbers for each sample
};

/// Where the batch is in arguments and results, and what random operators do.
struct VmapOptions {
  /// For each argument the batch dimension of all its tensors; negative ones count from the end. nullopt: every sample
  /// gets the whole argument, as required for arguments without tensors. Empty: 0 for all arguments with tensors.
  std::vector<std::optional<int64_t>> in_dims = {};
  /// The batch dimension of the results: one for all of their tensors, or one for each.
  std::vector<int64_t> out_dims = {0};
  Randomness randomness = Randomness::kError;
  /// How many samples run at once at most; 0: all.
  int64_t chunk_size = 0;
};

namespace detail {

/// One call of a vmapped function: the size of its batch, and the level of the chunk that runs.
class SHUNT_API VmapCall {
 public:
  /// `holds_tensors`: of each argument, whether it holds tensors. Both must outlive the call.
  VmapCall(const VmapOptions& options, std::span<const bool> holds_tensors);
  ~VmapCall();
  VmapCall(const VmapCall&) = delete;
  VmapCall& operator=(const VmapCall&) = delete;

  /// Notes a tensor of an argument, before the first chunk. Throws if its batch dimension doesn't exist, or its batch
  /// size differs from that of other tensors.
  void measure(size_t argument, const Tensor& t);
  /// The number of chunks. Throws if no argument has a batch.
  int64_t chunks();
  /// The function runs between these two, on the tensors that wrap() returns.
  void enter(int64_t chunk);
  void leave() noexcept;
  Tensor wrap(size_t argument, const Tensor& t) const;
  /// Whether results have different batch dimensions, so that unwrap() needs their number.
  bool countsResults() const;
  /// Tensor `position` of the `count` tensors of a result, with the batch at its output dimension. After leave().
  Tensor unwrap(const Tensor& t, size_t position, size_t count) const;
  /// The results of all chunks at this position.
  Tensor join(const std::vector<Tensor>& chunks, size_t position, size_t count) const;

 private:
  struct State;
  State& state() const;
  // Holds the State. On the heap, it would make a call of one operator take half as long again.
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

/// A transform's argument with f(const Tensor&) -> Tensor in place of each tensor; unchanged if it holds none.
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

/// Returns a function that takes the arguments of `f` with an additional batch dimension (options.in_dims), and returns
/// the results of `f` for all samples, stacked (options.out_dims).
///   - `f` takes and returns Tensor, or optional, vector, array, pair or tuple of Tensors. Other arguments are passed
///     unchanged.
///   - A result that doesn't depend on the batch is repeated. An undefined result stays undefined.
/// It throws if no argument has a batch, batch sizes differ, a dimension doesn't exist, or `f` throws; the levels of
/// the thread are restored then. These throw inside `f`:
///   - an in-place operator that writes a value with a batch to a tensor without one; out= forms; item();
///   - random operators, unless options.randomness allows them;
///   - the use of a tensor of a vmap that has ended.
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

/// Calls that vmap made by batching rules, and by the fallback that calls an operator for each sample.
struct VmapCounters {
  uint64_t rules, fallbacks;
};
/// The counts of all threads of the process so far.
SHUNT_API VmapCounters vmap_counters();

}  // namespace shunt
