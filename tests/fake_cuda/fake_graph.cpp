// Driver functions for graphs of kernels. libfakecuda_old.so has none of them.
#ifndef FAKECUDA_OLD
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/fake_cuda/fake_state.h"

namespace {

using namespace fakecuda;

/// The launch of a kernel node, with the values of its arguments.
GraphLaunch launch_of(const cuda::KernelNode& node) {
  GraphLaunch launch;
  launch.node = node;
  const Kernel* const kernel = reinterpret_cast<const Kernel*>(node.function);
  for (std::size_t i = 0; i < kernel->parameters; ++i) {
    unsigned long long value = 0;
    std::memcpy(&value, node.arguments[i], sizeof value);
    launch.values.push_back(value);
  }
  return launch;
}

}  // namespace

extern "C" {

Result cuGraphCreate(cuda::GraphHandle* graph, unsigned flags) {
  FAKE_CALL(Context);
  if (flags != 0) return cuda::kErrorInvalidValue;
  *graph = reinterpret_cast<cuda::GraphHandle>(add<void*>(state().graphs, std::make_unique<Graph>()));
  return cuda::kSuccess;
}

Result cuGraphDestroy(cuda::GraphHandle graph) {
  FAKE_CALL(Context);
  return state().graphs.erase(graph) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}

Result cuGraphAddKernelNode_v2(cuda::GraphNode* node, cuda::GraphHandle graph,
                               const cuda::GraphNode* after, std::size_t count,
                               const cuda::KernelNode* parameters) {
  FAKE_CALL(Context);
  Graph* const found = find(state().graphs, graph);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  // Nodes are numbered from 1.
  const std::size_t number = found->launches.size() + 1;
  std::vector<std::size_t> before;
  for (std::size_t i = 0; i < count; ++i) {
    const auto other = reinterpret_cast<std::size_t>(after[i]);
    if (other == 0 || other >= number) return cuda::kErrorInvalidValue;
    before.push_back(other - 1);
  }
  found->launches.push_back(launch_of(*parameters));
  found->after.push_back(std::move(before));
  *node = reinterpret_cast<cuda::GraphNode>(number);
  return cuda::kSuccess;
}

Result cuGraphAddDependencies_v2(cuda::GraphHandle graph, const cuda::GraphNode* from,
                                 const cuda::GraphNode* to, const cuda::GraphEdge* edge,
                                 std::size_t count) {
  FAKE_CALL(Context);
  Graph* const found = find(state().graphs, graph);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  const auto first = reinterpret_cast<std::size_t>(*from), second = reinterpret_cast<std::size_t>(*to);
  const bool programmatic =
      edge->from_port == cuda::kPortProgrammatic && edge->type == cuda::kDependencyProgrammatic;
  if (count != 1 || first + 1 != second || second > found->launches.size() || !programmatic) {
    return cuda::kErrorInvalidValue;
  }
  found->after[second - 1].push_back(first - 1);
  return cuda::kSuccess;
}

Result cuGraphInstantiateWithFlags(cuda::GraphExec* exec, cuda::GraphHandle graph,
                                   unsigned long long flags) {
  FAKE_CALL(Context);
  const Graph* const found = find(state().graphs, graph);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  if (flags != 0) return cuda::kErrorInvalidValue;
  *exec = reinterpret_cast<cuda::GraphExec>(add<void*>(state().execs, std::make_unique<Graph>(*found)));
  return cuda::kSuccess;
}

Result cuGraphExecKernelNodeSetParams_v2(cuda::GraphExec exec, cuda::GraphNode node,
                                         const cuda::KernelNode* parameters) {
  FAKE_CALL(Context);
  Graph* const found = find(state().execs, exec);
  const auto number = reinterpret_cast<std::size_t>(node);
  if (found == nullptr) return cuda::kErrorInvalidHandle;
  if (number == 0 || number > found->launches.size()) return cuda::kErrorInvalidValue;
  found->launches[number - 1] = launch_of(*parameters);
  return cuda::kSuccess;
}

Result cuGraphLaunch(cuda::GraphExec exec, cuda::StreamHandle stream) {
  Graph launched;
  void (*body)(const FakeCudaLaunch*, void*) = nullptr;
  void* closure = nullptr;
  {
    FAKE_CALL(Context);
    const Graph* const found = find(state().execs, exec);
    const bool known_stream = is_default_stream(stream) || find(state().streams, stream) != nullptr;
    if (found == nullptr || !known_stream) return cuda::kErrorInvalidHandle;
    launched = *found;
    body = state().on_launch;
    closure = state().on_launch_closure;
  }
  // Of those that may run the one that was added last does: what nothing orders runs in another order.
  std::vector<bool> done(launched.launches.size(), false);
  for (std::size_t n = 0; n < launched.launches.size(); ++n) {
    std::size_t next = launched.launches.size();
    const auto may_run = [&](std::size_t i) {
      return !done[i] && std::all_of(launched.after[i].begin(), launched.after[i].end(),
                                     [&](std::size_t before) { return done[before]; });
    };
    while (!may_run(--next)) {
    }
    done[next] = true;
    GraphLaunch& launch = launched.launches[next];
    std::vector<void*> arguments;
    for (unsigned long long& value : launch.values) arguments.push_back(&value);
    const cuda::KernelNode& node = launch.node;
    const FakeCudaLaunch seen{reinterpret_cast<const Kernel*>(node.function)->name.c_str(),
                              {node.grid[0], node.grid[1], node.grid[2]},
                              {node.block[0], node.block[1], node.block[2]},
                              node.shared_bytes,
                              stream,
                              arguments.data()};
    if (body != nullptr) body(&seen, closure);
  }
  return cuda::kSuccess;
}

Result cuGraphExecDestroy(cuda::GraphExec exec) {
  FAKE_CALL(Context);
  return state().execs.erase(exec) == 1 ? cuda::kSuccess : cuda::kErrorInvalidHandle;
}
}
#endif
