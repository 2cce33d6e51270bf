#include <shunt/autograd/node.h>

#include "src/autograd/graph_task.h"

#include <cxxabi.h>

#include <cstdlib>

namespace shunt {

constinit thread_local uint64_t autograd::detail::next_sequence_nr SHUNT_TLS_MODEL = 0;

// Nodes of this thread that wait to be destroyed (Note [Destruction without recursion]).
struct Node::Worklist {
  Node* head;
  bool draining;

  void drain() {
    while (Node* node = head) {
      head = node->next_to_destroy_;
      delete node;
    }
    draining = false;
  }
  static constinit thread_local Worklist current SHUNT_TLS_MODEL;
};
constinit thread_local Node::Worklist Node::Worklist::current{nullptr, false};

struct Node::Extras {
  // From the thread's free lists as the node itself: every node of several outputs has one.
  static void* operator new(size_t nbytes) { return shunt::detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept { shunt::detail::freeBlock(p, nbytes); }

  InlineVector<autograd::InputMetadata, 2> more_inputs;  // than the first
  std::shared_ptr<autograd::NodeHooks> hooks;
  int64_t hooked_input = -1;
};

Node::Node(autograd::edge_list next_edges) : Node(autograd::detail::next_sequence_nr++, std::move(next_edges)) {}
Node::Node(uint64_t sequence_nr, autograd::edge_list next_edges)
    : sequence_nr_(sequence_nr), next_edges_(std::move(next_edges)) {}

Node::~Node() {
  if (extras_ != nullptr) [[unlikely]]
    freeExtras();
}

void Node::destroy() {
  Worklist& list = Worklist::current;
  if (list.draining) {
    next_to_destroy_ = list.head;
    list.head = this;
    return;
  }
  list.draining = true;
  delete this;
  list.drain();
}

void Node::release_resources() {
  Worklist& list = Worklist::current;
  const bool outermost = !std::exchange(list.draining, true);
  release_variables();
  next_edges_.clear();
  if (extras_ != nullptr) extras_->hooks.reset();
  if (outermost) list.drain();
}

std::string Node::name() const { return autograd::nodeClassName(typeid(*this)); }

bool Node::task_should_compute_output(size_t i) const {
  const autograd::Edge& edge = next_edges_[i];
  return edge.is_valid() && autograd::currentTaskWants(edge.function.get());
}

Node::Extras& Node::extras() {
  if (extras_ == nullptr) extras_ = new Extras;
  return *extras_;
}

void Node::freeExtras() { delete std::exchange(extras_, nullptr); }

const autograd::InputMetadata& Node::more_input_metadata(size_t i) const { return extras_->more_inputs[i]; }

uint32_t Node::add_more_input_metadata(const Tensor& output) {
  extras().more_inputs.emplace_back(output);
  return num_inputs_++;
}

uint32_t Node::add_undefined_input() {
  if (num_inputs_ > 0) extras().more_inputs.emplace_back();
  return num_inputs_++;
}

void Node::clear_input_metadata() {
  first_input_ = {};
  if (extras_ != nullptr) extras_->more_inputs.clear();
  num_inputs_ = 0;
}

const autograd::NodeHooks* Node::extraHooks() const { return unfolds_ ? own_hooks() : extras_->hooks.get(); }

autograd::NodeHooks& Node::hooksToAddTo() {
  if (unfolds_) return *shared_hooks();
  std::shared_ptr<autograd::NodeHooks>& hooks = extras().hooks;
  if (!hooks) hooks = std::make_shared<autograd::NodeHooks>();
  return *hooks;
}

void Node::add_pre_hook(autograd::PreHook hook) { hooksToAddTo().pre.push_back(std::move(hook)); }
void Node::add_post_hook(autograd::PostHook hook) { hooksToAddTo().post.push_back(std::move(hook)); }

void Node::share_hooks(std::shared_ptr<autograd::NodeHooks> hooks, uint32_t input_nr) {
  extras().hooks = std::move(hooks);
  extras().hooked_input = input_nr;
}

int64_t Node::hooked_input() const { return extras_ == nullptr ? -1 : extras_->hooked_input; }

namespace autograd {

void throw_backward_twice() {
  const Node* node = runningNode();
  SHUNT_CHECK(
      false,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been freed). ",
      node != nullptr ? node->name() + " has freed what it saved. " : "",
      "The tensors that a graph saves are freed by its first backward or autograd::grad; pass retain_graph=true to "
      "that one if you need the graph again.");
  __builtin_unreachable();
}

std::string nodeClassName(const std::type_info& type) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  const std::string full = status == 0 ? demangled : type.name();
  std::free(demangled);
  const size_t start = full.rfind("::", full.find('<'));
  return start == std::string::npos ? full : full.substr(start + 2);
}

}  // namespace autograd
}  // namespace shunt
