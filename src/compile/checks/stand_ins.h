// StandIns: tensors in the place of those that a graph is given, for a run that is to leave these alone: what the graph
// writes is a copy, all else is read where it is. For the thread that makes them.
//
// Memory is copied by storage, so that what shares memory does so here. A grad is copied where the graph has to do with
// grads. Leaves that require grad are leaves here, with no hooks; others have a node that is the end of their history.
// Version counters begin where those of the originals are, and are apart from these.
#pragma once

#include <shunt/trace/graph.h>

#include <span>
#include <unordered_map>
#include <vector>

namespace shunt::compiled {

class StandIns {
 public:
  /// `inputs`: the graph's. Its constants are known. Throws where there is no memory.
  StandIns(const Graph& graph, std::span<const Tensor* const> inputs);
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

  struct Pair {
    Tensor real, stand_in;
    bool is_copy;  // the graph writes the memory
  };
  /// Each tensor once: inputs, then constants.
  const std::vector<Pair>& all() const { return all_; }
  /// Of one that the graph was not given: the tensor itself.
  const Tensor& of(const Tensor& t) const {
    const auto found = at_.find(t.unsafeGetTensorImpl());
    return found != at_.end() ? all_[found->second].stand_in : t;
  }
  /// Whether the graph reads or writes grads.
  bool hasGrads() const { return has_grads_; }

 private:
  void add(const Tensor& t);
  Tensor like(const Tensor& t);
  Storage storageFor(const StorageImpl& of, bool copies);

  bool has_grads_;
  std::vector<const StorageImpl*> written_;
  std::unordered_map<const StorageImpl*, Storage> storages_;
  std::unordered_map<const VersionCounter*, Tensor> counters_;  // of tensors that count apart from their storage
  std::unordered_map<const TensorImpl*, size_t> at_;
  std::vector<Pair> all_;
};

}  // namespace shunt::compiled
