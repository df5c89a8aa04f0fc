// Files, and the programs of the system that an export uses where there are any: ptxas and a C compiler.
#pragma once

#include <string>
#include <vector>

namespace mica::exported {

struct OutputFile {
  std::string path, bytes;
};

/// Writes all of the files or none: each appears under its name when all have been written. UserError
/// that names the file and the system's reason.
void write_files(const std::vector<OutputFile>& files);

/// Machine code of `ptx` by NVIDIA's ptxas, looked for in PATH, $CUDA_HOME/bin and /usr/local/cuda/bin.
/// Empty if there is none, or if it refuses the PTX, which a newer driver may take.
std::string assemble(const std::string& ptx, int sm);

/// Makes `stem`.so of `stem`.a by the C compiler in the environment variable CC, or `cc`; it exports the
/// functions whose names begin with `name`. Returns its path. UserError if there is no compiler, or with
/// what it says.
std::string link_shared(const std::string& stem, const std::string& name, bool cuda);

}  // namespace mica::exported
