#include "runtime/cuda/cuda_graph.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_kernel.h"

namespace mica {
namespace {

class CudaGraph final : public LaunchGraph {
 public:
  explicit CudaGraph(std::shared_ptr<const CudaContext> context) : context_(std::move(context)) {
    const CudaContext::Scope scope(*context_);
    driver().call(driver().cuGraphCreate, &graph_, 0U);
  }

  ~CudaGraph() override {
    // Errors say that the process ends or that the context is already broken.
    try {
      const CudaContext::Scope scope(*context_);
      if (exec_ != nullptr) (void)driver().cuGraphExecDestroy(exec_);
      (void)driver().cuGraphDestroy(graph_);
    } catch (const DeviceError&) {
    }
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void add(LoadedKernel& kernel, const LaunchShape& shape, void* const* arguments, std::size_t count,
           const std::vector<std::size_t>& after) override {
    internal_check(exec_ == nullptr, "a launch is added to a graph that was launched");
    const CudaContext::Scope scope(*context_);
    const auto& added = static_cast<const CudaKernel&>(kernel);
    const cuda::KernelNode node = added.node(shape, arguments, count);
    // A launch that waits for several, or that several wait for, overlaps none.
    const bool overlaps = after.size() == 1 && after.front() + 1 == launches_.size() &&
                          launches_.back().kernel->overlaps_launches() && added.overlaps_launches() &&
                          driver().cuGraphAddDependencies_v2.available();
    std::vector<cuda::GraphNode> before;
    for (const std::size_t number : after) before.push_back(launches_.at(number).node);
    cuda::GraphNode made = nullptr;
    driver().call(driver().cuGraphAddKernelNode_v2, &made, graph_,
                  overlaps || before.empty() ? nullptr : before.data(),
                  overlaps ? std::size_t{0} : before.size(), &node);
    if (overlaps) {
      const cuda::GraphEdge edge{.from_port = cuda::kPortProgrammatic,
                                 .type = cuda::kDependencyProgrammatic};
      driver().call(driver().cuGraphAddDependencies_v2, graph_, before.data(), &made, &edge,
                    std::size_t{1});
    }
    launches_.push_back({&added, shape, made});
  }

  [[nodiscard]] std::size_t size() const override { return launches_.size(); }

  void change(std::size_t number, void* const* arguments, std::size_t count) override {
    const CudaContext::Scope scope(*context_);
    instantiate();
    const Launch& launch = launches_.at(number);
    const cuda::KernelNode node = launch.kernel->node(launch.shape, arguments, count);
    driver().call(driver().cuGraphExecKernelNodeSetParams_v2, exec_, launch.node, &node);
  }

  void launch(Stream stream) override {
    const CudaContext::Scope scope(*context_);
    instantiate();
    driver().call(driver().cuGraphLaunch, exec_, context_->stream(stream));
  }

 private:
  struct Launch {
    const CudaKernel* kernel;
    LaunchShape shape;
    cuda::GraphNode node;
  };

  [[nodiscard]] const cuda::Driver& driver() const { return context_->driver(); }

  void instantiate() {
    if (exec_ != nullptr) return;
    driver().call(driver().cuGraphInstantiateWithFlags, &exec_, graph_, 0ULL);
  }

  const std::shared_ptr<const CudaContext> context_;
  cuda::GraphHandle graph_ = nullptr;
  cuda::GraphExec exec_ = nullptr;
  std::vector<Launch> launches_;
};

}  // namespace

std::unique_ptr<LaunchGraph> make_cuda_graph(std::shared_ptr<const CudaContext> context) {
  const cuda::Driver& driver = context->driver();
  const bool complete = driver.cuGraphCreate.available() && driver.cuGraphDestroy.available() &&
                        driver.cuGraphAddKernelNode_v2.available() &&
                        driver.cuGraphInstantiateWithFlags.available() &&
                        driver.cuGraphExecKernelNodeSetParams_v2.available() &&
                        driver.cuGraphLaunch.available() && driver.cuGraphExecDestroy.available();
  return complete ? std::make_unique<CudaGraph>(std::move(context)) : nullptr;
}

}  // namespace mica
