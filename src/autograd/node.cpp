#include <shunt/autograd/node.h>

#include "src/autograd/anomaly.h"
#include "src/autograd/graph_task.h"
#include "src/base/demangled.h"
#include "src/tensor/tensor_block.h"

namespace shunt {

constinit thread_local uint64_t autograd::detail::next_sequence_nr SHUNT_TLS_MODEL = 0;

// Nodes of this thread that wait (Note [Destruction without recursion]): to be destroyed, or, where weak references
// keep their memory, to give up what they own. A node is in one of the lists at most: what waits to give up is not
// destroyed before, as the list has a weak reference to it.
struct Node::Worklist {
  Node* to_destroy;
  Node* to_release;
  bool draining;

  static void push(Node*& list, Node* node) { node->next_to_destroy_ = std::exchange(list, node); }
  static Node* pop(Node*& list) { return std::exchange(list, list->next_to_destroy_); }
  void pushRelease(Node* node) {
    IntrusiveAccess::retainWeak(*node);
    push(to_release, node);
  }
  void drain() {
    for (;;) {
      if (to_release != nullptr) {
        Node* const node = pop(to_release);
        giveUp(*node);
        IntrusiveAccess::releaseWeak(*node);
      } else if (to_destroy != nullptr) {
        pop(to_destroy)->end();
      } else {
        break;
      }
    }
    draining = false;
  }
  static void giveUp(Node& node);
  static constinit thread_local Worklist current SHUNT_TLS_MODEL;
};
constinit thread_local Node::Worklist Node::Worklist::current{nullptr, nullptr, false};

struct Node::Extras {
  // From the thread's free lists as the node itself: every node of several outputs has one.
  static void* operator new(size_t nbytes) { return shunt::detail::allocateBlock(nbytes); }
  static void operator delete(void* p, size_t nbytes) noexcept { shunt::detail::freeBlock(p, nbytes); }

  InlineVector<autograd::InputMetadata, 2> more_inputs;  // than the first
  std::shared_ptr<autograd::NodeHooks> hooks;
  int64_t hooked_input = -1;
  std::unique_ptr<autograd::ForwardPlace> forward_place;
  shunt::detail::ForeignObject foreign;
};

Node::Node(autograd::edge_list next_edges) : Node(autograd::detail::next_sequence_nr++, std::move(next_edges)) {}
Node::Node(uint64_t sequence_nr, autograd::edge_list next_edges)
    : sequence_nr_(sequence_nr), next_edges_(std::move(next_edges)) {
  if ((shunt::detail::tls_state.mode & shunt::detail::kModeAnomaly) != 0) [[unlikely]]
    noteForwardPlace();
}

Node::~Node() {
  if (extras_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    freeExtras();
}

// The object that it owns goes first, which may still read it.
void Node::end() noexcept {
  if (Extras* extras = extras_.load(std::memory_order_acquire)) [[unlikely]]
    extras->foreign.release();
  delete this;
}

void Node::destroy() {
  Worklist& list = Worklist::current;
  if (list.draining) return Worklist::push(list.to_destroy, this);
  list.draining = true;
  end();
  list.drain();
}

void Node::release_resources() {
  Worklist& list = Worklist::current;
  if (list.draining) return list.pushRelease(this);
  list.draining = true;
  Worklist::giveUp(*this);
  list.drain();
}

void Node::Worklist::giveUp(Node& node) {
  Extras* extras = node.extras_.load(std::memory_order_acquire);
  if (extras != nullptr) extras->foreign.release();
  node.release_variables();
  node.next_edges_.clear();
  if (extras != nullptr) {
    extras->hooks.reset();
    extras->forward_place.reset();
  }
}

std::string Node::name() const { return autograd::nodeClassName(typeid(*this)); }

bool Node::task_should_compute_output(size_t i) const {
  const autograd::Edge& edge = next_edges_[i];
  return edge.is_valid() && autograd::currentTaskWants(edge.function.get());
}

Node::Extras& Node::extras() const {
  Extras* now = extras_.load(std::memory_order_acquire);
  if (now != nullptr) return *now;
  auto made = std::make_unique<Extras>();
  if (extras_.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) now = made.release();
  return *now;
}

void Node::freeExtras() { delete extras_.load(std::memory_order_relaxed); }

const autograd::InputMetadata& Node::more_input_metadata(size_t i) const { return extras().more_inputs[i]; }

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
  if (hasExtras()) extras().more_inputs.clear();
  num_inputs_ = 0;
}

const autograd::NodeHooks* Node::extraHooks() const { return unfolds_ ? own_hooks() : extras().hooks.get(); }

autograd::NodeHooks& Node::hooksToAddTo() {
  if (unfolds_) return *shared_hooks();
  std::shared_ptr<autograd::NodeHooks>& hooks = extras().hooks;
  if (!hooks) hooks = std::make_shared<autograd::NodeHooks>();
  return *hooks;
}

unsigned Node::add_pre_hook(autograd::PreHook hook) { return hooksToAddTo().pre.add(std::move(hook)); }
unsigned Node::add_post_hook(autograd::PostHook hook) { return hooksToAddTo().post.add(std::move(hook)); }

void Node::remove_pre_hook(unsigned id) {
  const bool was_there = hooks() != nullptr && hooksToAddTo().pre.remove(id);
  SHUNT_CHECK(was_there, "remove_pre_hook: ", name(), " has no pre-hook ", id);
}

void Node::remove_post_hook(unsigned id) {
  const bool was_there = hooks() != nullptr && hooksToAddTo().post.remove(id);
  SHUNT_CHECK(was_there, "remove_post_hook: ", name(), " has no post-hook ", id);
}

void Node::share_hooks(std::shared_ptr<autograd::NodeHooks> hooks, uint32_t input_nr) {
  extras().hooks = std::move(hooks);
  extras().hooked_input = input_nr;
}

int64_t Node::hooked_input() const { return hasExtras() ? extras().hooked_input : -1; }

void* Node::foreign_object() const { return hasExtras() ? extras().foreign.get() : nullptr; }
void Node::set_foreign_object(void* object) const {
  if (object != nullptr || hasExtras()) extras().foreign.set(object);
}
bool Node::owns_foreign_object() const { return hasExtras() && extras().foreign.owned(); }
void Node::set_owns_foreign_object(bool on) const { extras().foreign.set_owned(on); }

const autograd::ForwardPlace* Node::forward_place() const {
  return hasExtras() ? extras().forward_place.get() : nullptr;
}
void Node::noteForwardPlace() { extras().forward_place = autograd::forwardPlaceNow(); }

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
  const std::string full = shunt::detail::demangled(type.name());
  const size_t start = full.rfind("::", full.find('<'));
  return start == std::string::npos ? full : full.substr(start + 2);
}

}  // namespace autograd
}  // namespace shunt
