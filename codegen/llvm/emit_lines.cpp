// The user's lines of what is emitted.
#include <tuple>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/source_lines_llvm.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

namespace {

bool same(const SourceLocation& a, const SourceLocation& b) {
  return std::tie(a.line, a.file) == std::tie(b.line, b.file);
}

}  // namespace

Emitter::AtLine::AtLine(Emitter& emitter, const SourceLocation& where)
    : builder_(emitter.builder_), before_(builder_.getCurrentDebugLocation()) {
  if (emitter.hooks_.lines != nullptr && where.known()) {
    builder_.SetCurrentDebugLocation(emitter.hooks_.lines->at(emitter.function_, where));
  }
}

Emitter::ReadLine Emitter::read_line_of(const Expr& e) {
  const ExprNode* key = &e.node();
  if (const auto found = read_lines_.find(key); found != read_lines_.end()) return found->second.second;
  ReadLine line;
  const auto join = [&](const SourceLocation& where) {
    if (!where.known()) return;
    line.several = line.several || (line.where != nullptr && !same(*line.where, where));
    if (line.where == nullptr) line.where = &where;
  };
  if (const auto* load = e.as<Load>()) {
    join(load->where);
  } else {
    for_each_child(e, [&](const Expr& child) {
      const ReadLine below = read_line_of(child);
      line.several = line.several || below.several;
      if (below.where != nullptr) join(*below.where);
    });
  }
  read_lines_.emplace(key, std::pair(e, line));
  return line;
}

void Emitter::emit_body(const ir::Stmt& body) {
  if (hooks_.lines == nullptr) return emit(body);
  of_statement(first_line(body), [&] { emit(body); });
}

llvm::Value* Emitter::value_at_line(const Expr& e) {
  const ReadLine line = read_line_of(e);
  const AtLine at(*this, line.where != nullptr && !line.several ? *line.where : statement_line_);
  return value_of_node(e);
}

}  // namespace mica::llvm_backend
