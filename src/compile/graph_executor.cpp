// The executor that calls a graph's operators through the dispatcher.
#include "src/compile/executor.h"

namespace shunt::compiled {
namespace {

class GraphExecutor final : public Executor {
 public:
  explicit GraphExecutor(const Graph& graph) : graph_(graph.clone()) {}
  std::vector<Tensor> run(std::span<const Tensor> inputs) const override {
    return graph_.run({inputs.begin(), inputs.end()});
  }
  std::string describe() const override { return graph_.print(); }

 private:
  Graph graph_;
};

}  // namespace

std::unique_ptr<Executor> makeExecutor(const Graph& graph) { return std::make_unique<GraphExecutor>(graph); }

}  // namespace shunt::compiled
