// Machine code of an exported pipeline (codegen/export). No LLVM type appears here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/backend.h"
#include "runtime/run/run_plan.h"

namespace mica::llvm_backend {

struct ExportedVariant {
  std::shared_ptr<const PreparedPlan> prepared;
  std::shared_ptr<const ir::Module> module;
  std::string ptx, cubin;            ///< CUDA: its kernels; without machine code the driver makes it
  std::vector<std::string> entries;  ///< CUDA: the entry point of each launch
};

/// A pipeline as runtime/export carries it out. All variants have the same buffers and scalars.
struct ExportedPipeline {
  std::string name;  ///< a C identifier: that of the function, with which all other names begin
  bool cuda = false;
  std::string target;      ///< of mica_pipeline_description
  std::string code;        ///< of mica_pipeline_description
  std::vector<int> order;  ///< order[k]: the number in the plan of the k-th array of the functions
  std::int64_t depth = 1;  ///< of the expressions, as Pipeline::depth
  HostCpu cpu = HostCpu::Native;
  std::vector<ExportedVariant> variants;  ///< those with more assumptions first
};

/// Files of an archive, by name.
struct ArchiveMember {
  std::string name, bytes;
};

/// The kind of CPU that such code is for, as LLVM calls it.
std::string host_code_name(HostCpu cpu);

/// Objects that define the functions of docs/export.md; they call those of runtime/export.
std::vector<ArchiveMember> export_objects(const ExportedPipeline& pipeline);

/// The members of an archive, and an archive with a table of their symbols. The same input gives the
/// same bytes.
std::vector<ArchiveMember> archive_members(std::string_view archive);
std::string make_archive(const std::vector<ArchiveMember>& members);

}  // namespace mica::llvm_backend
