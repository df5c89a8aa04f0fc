// Constant data of a module, as a C program would write it: texts, structs and arrays of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

namespace mica::llvm_backend {

/// Makes constants; what pointers point at is internal to the module. Structs are laid out as C lays out
/// members of these types.
class ConstantData {
 public:
  explicit ConstantData(llvm::Module& module) : module_(module) {}

  [[nodiscard]] llvm::Constant* i64(std::int64_t value) const;
  [[nodiscard]] llvm::Constant* i32(std::int32_t value) const;
  [[nodiscard]] llvm::Constant* u8(std::uint8_t value) const;
  [[nodiscard]] llvm::Constant* null() const;
  /// The address of the bytes of `value` and a zero after them.
  llvm::Constant* text(const std::string& value);
  [[nodiscard]] llvm::Constant* record(const std::vector<llvm::Constant*>& members) const;
  /// The address of `elements`, all of one type; null for none.
  llvm::Constant* list(const std::vector<llvm::Constant*>& elements);
  llvm::Constant* integers(const std::vector<std::int64_t>& values);
  /// The address of a constant, or of what the program may change.
  llvm::Constant* placed(llvm::Constant* value, bool constant = true);

 private:
  llvm::Module& module_;
};

}  // namespace mica::llvm_backend
