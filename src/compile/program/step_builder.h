// StepBuilder: makes the steps of a program, one for each node, in order. A local value.
#pragma once

#include "src/compile/program/placement.h"

#include <memory>
#include <vector>

namespace shunt::compiled {

class StepBuilder {
 public:
  using Modes = std::vector<std::unique_ptr<const Graph::Modes>>;

  /// `modes`: the program's, each once; steps refer to them.
  StepBuilder(const Placement& placement, Modes& modes) : at_(placement), modes_(modes) {}
  std::vector<Step> build();

 private:
  Step stepOf(const Graph::Node& node, size_t position);
  Operand operandOf(const Graph::Value* v) const;
  Operand operandOf(const Graph::Argument& a, const Argument& wanted) const;
  void markLast(const Graph::Node& node, size_t position, Step& step) const;
  void passAutogradBy(const Graph::Node& node, Step& step);
  void addProduct(const Graph::Node& node, const ProductNode& product, size_t position, Step& step) const;
  void addHostStep(const Graph::Node& node, Step& step) const;
  void addPrepared(const Graph::Node& node, Step& step) const;
  void findBuffers(const Graph::Node& node, Step& step) const;
  void joinWithMaker(const Graph::Node& view, const Step& step);

  const Placement& at_;
  Modes& modes_;
  std::vector<Step> steps_;
};

}  // namespace shunt::compiled
