#include "tests/world/model_automaton.h"

#include <stdexcept>

namespace shunt::world::model {

Automaton::Automaton(int context, int thread, std::function<void()> program)
    : context_(context), thread_(thread), program_(std::move(program)) {
  std::vector<Mark> after;
  arrive({}, -1, after);
  if (!after.empty()) throw std::logic_error("a program must begin with an operation");
}

const Automaton::Edge& Automaton::follow(uint16_t from, Value result) {
  for (const Edge& e : nodes_[from].edges)
    if (e.result == result) return e;
  std::vector<Value> history = nodes_[from].history;
  history.push_back(result);
  const uint16_t here = nodes_[from].position;
  Edge edge{result, 0, {}};
  edge.to = arrive(std::move(history), here, edge.after);
  const uint16_t there = nodes_[edge.to].position;
  positions_[there].parents.insert(here);
  Footprint more;
  for (const Mark& m : edge.after) more.add(m);
  addToPast(here, positions_[there].future, more);
  extendFuture(here, more);
  nodes_[from].edges.push_back(std::move(edge));
  return nodes_[from].edges.back();
}

void Automaton::extendFuture(uint16_t position, const Footprint& more) {
  Footprint all = positions_[position].future;
  all |= more;
  if (all == positions_[position].future) return;
  positions_[position].future = all;
  ++surprises_;
  for (const uint16_t parent : positions_[position].parents) {
    Footprint past;
    addToPast(parent, all, past);
    extendFuture(parent, past);
  }
}

void Automaton::addToPast(uint16_t position, const Footprint& future, Footprint& past) const {
  const uint64_t unguarded = past.unguarded_reads;
  past |= future;
  if (positions_[position].op == OpKind::kBarrier) past.unguarded_reads = unguarded;
}

uint16_t Automaton::positionAfter(int parent, const Node& node) {
  Footprint own;
  for (const Mark& m : node.before) own.add(m);
  own.add(node.op, thread_);
  const auto [it, made] =
      position_index_.try_emplace({parent, node.op.kind, node.op.location}, static_cast<uint16_t>(positions_.size()));
  if (!made) {
    extendFuture(it->second, own);
    return it->second;
  }
  if (expect_anything_) {
    own |= positions_[0].future;
    own.unguarded_reads = own.reads;
  }
  positions_.push_back({node.op.kind, own, {}});
  return it->second;
}

uint16_t Automaton::arrive(std::vector<Value> history, int parent, std::vector<Mark>& after) {
  Run run;
  run.history = history;
  run.context = context_;
  Names::current().run = &run;
  program_();
  Names::current().run = nullptr;
  if (run.consumed != run.history.size()) throw std::logic_error("a program of the model is not deterministic");

  Node node;
  node.op = run.pending;  // kDone where the program ended
  node.history = std::move(history);
  for (const Mark& m : run.marks) (m.withNextOp() ? node.before : after).push_back(m);
  if (run.checkpoint >= 0) {
    const auto it = checkpoints_.find(run.checkpoint);
    if (it != checkpoints_.end()) return it->second;
    checkpoints_[run.checkpoint] = static_cast<uint16_t>(nodes_.size());
  }
  node.position = positionAfter(parent, node);
  if (nodes_.size() >= UINT16_MAX) throw std::length_error("too many histories for the model");
  nodes_.push_back(std::move(node));
  return static_cast<uint16_t>(nodes_.size() - 1);
}

}  // namespace shunt::world::model
