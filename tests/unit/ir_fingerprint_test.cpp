#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/ir/fingerprint.h"
#include "codegen/ir/print.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

ir::Kernel with_body(const ir::Stmt& body) {
  ir::Kernel kernel = test::shared_reverse(32);
  kernel.body = body;
  return kernel;
}

TEST(IrFingerprint, EqualConstructionsAgreeAndOthersDiffer) {
  EXPECT_EQ(fingerprint(test::seven_point_march(4)), fingerprint(test::seven_point_march(4)));
  EXPECT_NE(fingerprint(test::seven_point_march(4)), fingerprint(test::seven_point_march(5)));
  EXPECT_NE(fingerprint(test::seven_point_gpu(0)), fingerprint(test::seven_point_gpu(4)));
}

TEST(IrFingerprint, AlignmentsAndTypesThatThePrinterHidesCount) {
  const auto copy = [](int alignment) {
    return with_body(
        test::store_vector("out", 0, test::load_vector("u", Float(32), 0, 4, alignment), 1));
  };
  EXPECT_EQ(to_string(copy(1)), to_string(copy(4)));
  EXPECT_NE(fingerprint(copy(1)), fingerprint(copy(4)));
  const auto bound = [](const Expr& value) {
    return with_body(ir::make_stmt(ir::LetStmt{"c", value, test::store("out", 0, 1.0F)}));
  };
  EXPECT_EQ(to_string(bound(Expr(0.5))), to_string(bound(Expr(0.5F))));
  EXPECT_NE(fingerprint(bound(Expr(0.5))), fingerprint(bound(Expr(0.5F))));
}

TEST(IrFingerprint, ASecondUseOfANodeIsNotConfusedWithAnotherNode) {
  const Expr a = test::load("u", Float(32), 0), b = test::load("u", Float(32), 1);
  EXPECT_NE(fingerprint(with_body(test::store("out", 0, test::fused(a, b, a)))),
            fingerprint(with_body(test::store("out", 0, test::fused(a, b, b)))));
}

// ---- every field
// ---------------------------------------------------------------------------------------

/// Changes of one thing each, by name.
template <typename Thing>
using Changes = std::vector<std::pair<std::string, std::function<void(Thing&)>>>;

/// `thing` and `thing` with each of the changes give different fingerprints.
template <typename Thing>
void expect_all_count(const Thing& thing, const Changes<Thing>& changes,
                      const std::function<ir::Kernel(const Thing&)>& kernel_of) {
  std::map<std::string, std::string> known = {{ir::fingerprint(kernel_of(thing)), "nothing"}};
  for (const auto& [what, change] : changes) {
    Thing other = thing;
    change(other);
    const auto [same, is_new] = known.emplace(ir::fingerprint(kernel_of(other)), what);
    EXPECT_TRUE(is_new) << "the key is the same whether " << same->second << " or " << what
                        << " is changed";
  }
}
template <typename Op>
void expect_all_count_in_statement(const Op& op, const Changes<Op>& changes) {
  expect_all_count<Op>(op, changes, [](const Op& o) { return with_body(ir::make_stmt(o)); });
}
template <typename Op>
void expect_all_count_in_expression(Type type, const Op& op, const Changes<Op>& changes) {
  expect_all_count<Op>(
      op, changes, [type](const Op& o) { return with_body(test::store("out", 0, make_expr(type, o))); });
}

SourceLocation place(const char* file, int line) {
  SourceLocation where;
  where.file = file;
  where.line = line;
  return where;
}

const Expr a = make_var("a"), b = make_var("b");
const ir::Stmt first = test::store("out", 0, 1.0F), second = test::store("out", 1, 1.0F);

TEST(IrFingerprint, EveryFieldOfAKernelCounts) {
  const ir::Kernel kernel = test::shared_reverse(32);
  expect_all_count<ir::Kernel>(kernel,
                               {{"name", [](auto& k) { k.name += "x"; }},
                                {"on_device", [](auto& k) { k.on_device = !k.on_device; }},
                                {"params", [](auto& k) { k.params.push_back(test::scalar("n")); }},
                                {"body", [](auto& k) { k.body = first; }},
                                {"block[0]", [](auto& k) { k.block[0] += 1; }},
                                {"block[1]", [](auto& k) { k.block[1] += 1; }},
                                {"block[2]", [](auto& k) { k.block[2] += 1; }},
                                {"min_blocks", [](auto& k) { k.min_blocks = 3; }},
                                {"max_registers", [](auto& k) { k.max_registers = 3; }},
                                {"cluster[0]", [](auto& k) { k.cluster[0] = 2; }},
                                {"cluster[1]", [](auto& k) { k.cluster[1] = 2; }},
                                {"cluster[2]", [](auto& k) { k.cluster[2] = 2; }}},
                               [](const ir::Kernel& k) { return k; });
}

TEST(IrFingerprint, EveryFieldOfAParameterCounts) {
  expect_all_count<ir::KernelParam>(test::pointer("u", Float(32)),
                                    {{"name", [](auto& p) { p.name = "v"; }},
                                     {"type's code", [](auto& p) { p.type = Int(32); }},
                                     {"type's bits", [](auto& p) { p.type = Float(64); }},
                                     {"type's lanes", [](auto& p) { p.type = Float(32).with_lanes(2); }},
                                     {"is_pointer", [](auto& p) { p.is_pointer = false; }},
                                     {"is_written", [](auto& p) { p.is_written = true; }},
                                     {"read_only", [](auto& p) { p.read_only = !p.read_only; }},
                                     {"texture", [](auto& p) { p.texture = true; }}},
                                    [](const ir::KernelParam& p) {
                                      ir::Kernel kernel = test::shared_reverse(32);
                                      kernel.params[0] = p;
                                      return kernel;
                                    });
}

TEST(IrFingerprint, EveryFieldOfALoopABranchAndALetCounts) {
  expect_all_count_in_statement<ir::For>({"i", a, a, LoopKind::Serial, first},
                                         {{"name", [](auto& s) { s.name = "j"; }},
                                          {"min", [](auto& s) { s.min = b; }},
                                          {"extent", [](auto& s) { s.extent = b; }},
                                          {"kind", [](auto& s) { s.kind = LoopKind::Parallel; }},
                                          {"body", [](auto& s) { s.body = second; }}});
  expect_all_count_in_statement<ir::If>({a < 1, first, first},
                                        {{"condition", [](auto& s) { s.condition = b < 1; }},
                                         {"then_case", [](auto& s) { s.then_case = second; }},
                                         {"no then_case", [](auto& s) { s.then_case = {}; }},
                                         {"else_case", [](auto& s) { s.else_case = second; }},
                                         {"no else_case", [](auto& s) { s.else_case = {}; }}});
  expect_all_count_in_statement<ir::LetStmt>({"i", a, first},
                                             {{"name", [](auto& s) { s.name = "j"; }},
                                              {"value", [](auto& s) { s.value = b; }},
                                              {"body", [](auto& s) { s.body = second; }}});
  expect_all_count_in_statement<ir::Block>(
      {{first, second}},
      {{"order", [](auto& s) { std::swap(s.stmts[0], s.stmts[1]); }},
       {"length", [](auto& s) { s.stmts.pop_back(); }},
       {"nesting", [](auto& s) { s.stmts[1] = ir::make_stmt(ir::Block{{second}}); }}});
  expect_all_count_in_statement<ir::Produce>({"f", first},
                                             {{"func", [](auto& s) { s.func = "g"; }},
                                              {"body", [](auto& s) { s.body = second; }},
                                              {"plane", [](auto& s) { s.plane = true; }},
                                              {"kept", [](auto& s) { s.kept = ir::Kept::Rows; }}});
}

TEST(IrFingerprint, EveryFieldOfAStoreAndAnAllocationCounts) {
  expect_all_count_in_statement<ir::Store>({"out", {a}, a, {a}},
                                           {{"buffer", [](auto& s) { s.buffer = "u"; }},
                                            {"index", [](auto& s) { s.index = {b}; }},
                                            {"no index", [](auto& s) { s.index = {}; }},
                                            {"value", [](auto& s) { s.value = b; }},
                                            {"logical", [](auto& s) { s.logical = {b}; }},
                                            {"no logical", [](auto& s) { s.logical = {}; }},
                                            {"alignment", [](auto& s) { s.alignment = 4; }},
                                            {"streamed", [](auto& s) { s.streamed = true; }},
                                            {"atomic", [](auto& s) { s.atomic = BinaryOp::Add; }},
                                            {"operation", [](auto& s) { s.atomic = BinaryOp::Max; }},
                                            {"block", [](auto& s) { s.block = a; }},
                                            {"another block", [](auto& s) { s.block = b; }},
                                            {"line", [](auto& s) { s.where = place("a.cpp", 3); }},
                                            {"another", [](auto& s) { s.where = place("a.cpp", 4); }},
                                            {"file", [](auto& s) { s.where = place("b.cpp", 3); }}});
  expect_all_count_in_statement<ir::Allocate>(
      {"m", Float(32), MemoryType::Shared, {a, a}, {a, a}, {1, 8}, first},
      {{"buffer", [](auto& s) { s.buffer = "n"; }},
       {"type", [](auto& s) { s.type = Int(32); }},
       {"memory", [](auto& s) { s.memory = MemoryType::Stack; }},
       {"mins", [](auto& s) { s.mins[1] = b; }},
       {"extents", [](auto& s) { s.extents[1] = b; }},
       {"which are mins",
        [](auto& s) {
          s.mins = {a}, s.extents = {a, a, a};
        }},
       {"strides", [](auto& s) { s.strides[1] = 9; }},
       {"body", [](auto& s) { s.body = second; }},
       {"folds", [](auto& s) { s.folds = {3}; }},
       {"which are folds", [](auto& s) { s.strides = {1}, s.folds = {8}; }},
       {"stage", [](auto& s) { s.stage = "u"; }},
       {"kept", [](auto& s) { s.kept = ir::Kept::Rows; }},
       {"places", [](auto& s) { s.places = 2; }},
       {"per_thread", [](auto& s) { s.per_thread = true; }}});
}

TEST(IrFingerprint, EveryFieldOfACopyAndABarrierCounts) {
  const auto places = [](auto& list) {
    list.insert(list.begin(), {{"to", [](auto& s) { s.to = "v"; }},
                               {"from", [](auto& s) { s.from = "v"; }},
                               {"to_index", [](auto& s) { s.to_index = {b}; }},
                               {"from_index", [](auto& s) { s.from_index = {b}; }},
                               {"to_logical", [](auto& s) { s.to_logical = {b}; }},
                               {"from_logical", [](auto& s) { s.from_logical = {b}; }},
                               {"which is logical",
                                [](auto& s) {
                                  s.to_index = {}, s.to_logical = {a, a};
                                }},
                               {"whose it is", [](auto& s) {
                                  s.to_index = {}, s.from_index = {a, a};
                                }}});
  };
  Changes<ir::AsyncCopy> async = {{"count", [](auto& s) { s.count = 2; }}};
  places(async);
  expect_all_count_in_statement<ir::AsyncCopy>({"m", "u", {a}, {a}, {a}, {a}, 1}, async);
  Changes<ir::BulkCopy> bulk = {{"count", [](auto& s) { s.count = b; }},
                                {"barriers", [](auto& s) { s.barriers = "other"; }},
                                {"slot", [](auto& s) { s.slot = b; }}};
  places(bulk);
  expect_all_count_in_statement<ir::BulkCopy>({"m", "u", {a}, {a}, {a}, {a}, a, "full", a}, bulk);
  expect_all_count_in_statement<ir::CopyWait>({0}, {{"pending", [](auto& s) { s.pending = 1; }}});
  expect_all_count_in_statement<ir::BulkInit>(
      {"full", 1},
      {{"barriers", [](auto& s) { s.barriers = "other"; }}, {"count", [](auto& s) { s.count = 2; }}});
  expect_all_count_in_statement<ir::BulkExpect>({"full", a, a},
                                                {{"barriers", [](auto& s) { s.barriers = "other"; }},
                                                 {"slot", [](auto& s) { s.slot = b; }},
                                                 {"bytes", [](auto& s) { s.bytes = b; }}});
  expect_all_count_in_statement<ir::BulkWait>({"full", a, a},
                                              {{"barriers", [](auto& s) { s.barriers = "other"; }},
                                               {"slot", [](auto& s) { s.slot = b; }},
                                               {"parity", [](auto& s) { s.parity = b; }}});
  expect_all_count_in_statement<ir::Evaluate>({a}, {{"value", [](auto& s) { s.value = b; }}});
  expect_all_count_in_statement<ir::Barrier>(
      {}, {{"fences_copies", [](auto& s) { s.fences_copies = true; }}});
  expect_all_count_in_statement<ir::NamedBarrier>(
      {}, {{"number", [](auto& s) { s.number = 2; }},
           {"threads", [](auto& s) { s.threads = 64; }},
           {"waits", [](auto& s) { s.waits = false; }},
           {"fences_copies", [](auto& s) { s.fences_copies = true; }},
           {"turns", [](auto& s) { s.turns = 2; }},
           {"turn", [](auto& s) { s.turn = a; }}});
  EXPECT_NE(ir::fingerprint(with_body(ir::make_stmt(ir::CopyCommit{}))),
            ir::fingerprint(with_body(ir::make_stmt(ir::ClusterBarrier{}))));
}

TEST(IrFingerprint, EveryFieldOfAnExpressionCounts) {
  const Type i32 = Int(32), pair = Int(32).with_lanes(2);
  expect_all_count_in_expression<IntImm>(i32, {1}, {{"value", [](auto& e) { e.value = 2; }}});
  expect_all_count_in_expression<FloatImm>(
      Float(64), {0.0},
      {{"value", [](auto& e) { e.value = 1e-300; }}, {"sign", [](auto& e) { e.value = -0.0; }}});
  expect_all_count_in_expression<VarRef>(i32, {"a"}, {{"name", [](auto& e) { e.name = "b"; }}});
  expect_all_count_in_expression<Cast>(i32, {a}, {{"value", [](auto& e) { e.value = b; }}});
  expect_all_count_in_expression<Strict>(i32, {a}, {{"value", [](auto& e) { e.value = b; }}});
  expect_all_count_in_expression<Reinterpret>(i32, {a}, {{"value", [](auto& e) { e.value = b; }}});
  expect_all_count_in_expression<Broadcast>(pair, {a}, {{"value", [](auto& e) { e.value = b; }}});
  expect_all_count_in_expression<Unary>(
      i32, {UnaryOp::Neg, a},
      {{"op", [](auto& e) { e.op = UnaryOp::Abs; }}, {"a", [](auto& e) { e.a = b; }}});
  expect_all_count_in_expression<Binary>(i32, {BinaryOp::Add, a, a},
                                         {{"op", [](auto& e) { e.op = BinaryOp::Sub; }},
                                          {"a", [](auto& e) { e.a = b; }},
                                          {"b", [](auto& e) { e.b = b; }}});
  expect_all_count_in_expression<Compare>(Bool(), {CompareOp::Lt, a, a},
                                          {{"op", [](auto& e) { e.op = CompareOp::Le; }},
                                           {"a", [](auto& e) { e.a = b; }},
                                           {"b", [](auto& e) { e.b = b; }}});
  expect_all_count_in_expression<Select>(i32, {a < 1, a, a},
                                         {{"condition", [](auto& e) { e.condition = b < 1; }},
                                          {"if_true", [](auto& e) { e.if_true = b; }},
                                          {"if_false", [](auto& e) { e.if_false = b; }}});
  expect_all_count_in_expression<Fma>(i32, {a, a, a},
                                      {{"a", [](auto& e) { e.a = b; }},
                                       {"b", [](auto& e) { e.b = b; }},
                                       {"c", [](auto& e) { e.c = b; }}});
  expect_all_count_in_expression<Let>(i32, {"n", a, a},
                                      {{"name", [](auto& e) { e.name = "m"; }},
                                       {"value", [](auto& e) { e.value = b; }},
                                       {"body", [](auto& e) { e.body = b; }}});
  expect_all_count_in_expression<Load>(i32, {"u", {a}, {a}},
                                       {{"buffer", [](auto& e) { e.buffer = "v"; }},
                                        {"index", [](auto& e) { e.index = {b}; }},
                                        {"no index", [](auto& e) { e.index = {}; }},
                                        {"logical", [](auto& e) { e.logical = {b}; }},
                                        {"no logical", [](auto& e) { e.logical = {}; }},
                                        {"alignment", [](auto& e) { e.alignment = 4; }},
                                        {"streamed", [](auto& e) { e.streamed = true; }},
                                        {"line", [](auto& e) { e.where = place("a.cpp", 3); }},
                                        {"another", [](auto& e) { e.where = place("a.cpp", 4); }},
                                        {"file", [](auto& e) { e.where = place("b.cpp", 3); }}});
  expect_all_count_in_expression<WarpShuffle>(
      i32, {a, 1}, {{"value", [](auto& e) { e.value = b; }}, {"delta", [](auto& e) { e.delta = -1; }}});
  expect_all_count_in_expression<Print>(i32, {a, a < 1, {a}, {"x ", ""}},
                                        {{"value", [](auto& e) { e.value = b; }},
                                         {"condition", [](auto& e) { e.condition = b < 1; }},
                                         {"operands", [](auto& e) { e.operands = {b}; }},
                                         {"no operands", [](auto& e) { e.operands = {}; }},
                                         {"texts", [](auto& e) {
                                            e.texts = {"y ", ""};
                                          }}});
  expect_all_count_in_expression<Ramp>(
      pair, {a, a}, {{"base", [](auto& e) { e.base = b; }}, {"stride", [](auto& e) { e.stride = b; }}});
  expect_all_count_in_expression<Shuffle>(pair, {{a, a}, {0, 1}},
                                          {{"vectors", [](auto& e) { e.vectors[1] = b; }},
                                           {"fewer vectors", [](auto& e) { e.vectors = {a}; }},
                                           {"lanes", [](auto& e) {
                                              e.lanes = {1, 0};
                                            }}});
  EXPECT_NE(ir::fingerprint(with_body(test::store("out", 0, make_expr(Int(64), Cast{a})))),
            ir::fingerprint(with_body(test::store("out", 0, make_expr(Int(32), Cast{a})))));
}

}  // namespace
}  // namespace mica
