#include "freed_graph.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <utility>

namespace shunt_torch {
namespace {

class FreedGraph : public torch::autograd::Node {
 public:
  FreedGraph(std::string name, std::string message) : name_(std::move(name)), message_(std::move(message)) {}
  std::string name() const override { return name_; }
  torch::autograd::variable_list apply(torch::autograd::variable_list&&) override {
    throw std::runtime_error(message_);
  }

 private:
  std::string name_, message_;
};

}  // namespace

void setFreedGraph(const at::Tensor& t, std::string name, std::string message) {
  torch::autograd::set_history(t, c10::make_intrusive<FreedGraph>(std::move(name), std::move(message)));
}

}  // namespace shunt_torch
