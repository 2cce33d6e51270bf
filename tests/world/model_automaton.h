// One program of the model as an automaton: a node per history of results, made when it is first reached.
// Note [How the model runs the real header] in model_platform.h says why that is the program.
#pragma once

#include <set>
#include <tuple>

#include "tests/world/footprint.h"

namespace shunt::world::model {

class Automaton {
 public:
  struct Edge {
    Value result;
    uint16_t to;
    std::vector<Mark> after;  // told to the oracle together with the operation
  };
  struct Node {
    Op op;
    std::vector<Mark> before;
    std::vector<Value> history;
    std::vector<Edge> edges;
    uint16_t position;
  };

  Automaton(int context, int thread, std::function<void()> program);

  const Node& node(uint16_t i) const { return nodes_[i]; }
  /// What this operation and all that can follow touch, as far as known.
  const Footprint& future(uint16_t node) const { return positions_[nodes_[node].position].future; }
  /// Where node `from` goes when its operation returns `result`. The reference lives until the next call.
  const Edge& follow(uint16_t from, Value result);
  size_t size() const { return nodes_.size(); }
  /// From now on a new position is taken to have the whole program before it, so it cannot turn out to have more.
  void expectAnything() { expect_anything_ = true; }
  /// How often a position turned out to have more future than was known before.
  size_t surprises() const { return surprises_; }

 private:
  // Nodes whose histories did the same operations, whatever the results; they share what is known of their future.
  struct Position {
    OpKind op;
    Footprint future;
    std::set<uint16_t> parents;
  };

  /// Runs the program with `history`, one result beyond a node at `parent`; the last result's marks go to `after`.
  uint16_t arrive(std::vector<Value> history, int parent, std::vector<Mark>& after);
  uint16_t positionAfter(int parent, const Node& node);
  /// Adds what follows `position` to its `past`: a barrier guards the reads after it.
  void addToPast(uint16_t position, const Footprint& future, Footprint& past) const;
  void extendFuture(uint16_t position, const Footprint& more);

  int context_, thread_;
  size_t surprises_ = 0;
  bool expect_anything_ = false;
  std::function<void()> program_;
  std::vector<Node> nodes_;
  std::vector<Position> positions_;
  std::map<std::tuple<int, OpKind, uint8_t>, uint16_t> position_index_;
  std::map<int, uint16_t> checkpoints_;
};

}  // namespace shunt::world::model
