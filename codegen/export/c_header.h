// The text of an exported library's header.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/plan.h"

namespace mica::exported {

/// What the header says of a pipeline.
struct HeaderFacts {
  std::string name;          ///< of the function
  std::string library;       ///< the file's name, "blur.a"
  std::string target, code;  ///< "host", "cuda:90"; what the code is for
  bool cuda = false;
  const Plan* plan = nullptr;        ///< of the first variant
  std::vector<int> order;            ///< order[k]: the number in the plan of array k of the functions
  std::vector<std::string> entries;  ///< CUDA: the entry point of each launch
  std::vector<Variant> variants;
  std::vector<std::string> beside;  ///< CUDA: the files of code, "blur.ptx"
};

/// C99, self-contained: the types of docs/export.md and the pipeline's functions.
std::string c_header(const HeaderFacts& facts);

}  // namespace mica::exported
