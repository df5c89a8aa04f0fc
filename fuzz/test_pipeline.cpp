#include "fuzz/test_pipeline.h"

#include <stdexcept>

namespace mica::test {

Func& TestPipeline::func(const std::string& wanted) {
  for (Func& f : funcs) {
    if (f.name() == wanted) return f;
  }
  throw std::out_of_range("no Func " + wanted + " in " + name);
}

}  // namespace mica::test
