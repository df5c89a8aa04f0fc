// The loops of Funcs that read themselves, and of updates without directives.
#include <gtest/gtest.h>

#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;
using test::loops;

const Var x("x"), y("y"), z("z");

Func walk(const ImageParam& u) {
  Func c("c");
  c(x, y, z) = u(x, y, z) + c(x, y, z - 1);
  return c;
}

TEST(OwnReads, TheHostWalksRowByRow) {
  const ImageParam u(Float(32), 3, "u");
  EXPECT_EQ(loops(walk(u), Backend::Host),
            "produce c:\n"
            "  parallel c.y in [0, (c.extent.1 + 7)/8)\n"
            "    for c.z in [0, c.extent.2)\n"
            "      for c.y.part in [0, min(8, c.extent.1 - c.y*8))\n"
            "        for c.x in [0, (c.extent.0 + 15)/16)\n"
            "          if 16 <= c.extent.0 - c.x*16\n"
            "            vectorized c.x.vec in [0, 16)\n"
            "              c[..] = ...\n"
            "          else\n"
            "            for c.x.vec in [0, min(16, c.extent.0 - c.x*16))\n"
            "              c[..] = ...\n");
}

TEST(OwnReads, AGpuWalksAColumnAThread) {
  const ImageParam u(Float(32), 3, "u");
  Func c = walk(u);
  c.gpu_tile(x, y, 32, 4);
  const std::string text = loops(c, Backend::Cuda);
  EXPECT_EQ(count(text, "gpu_thread"), 2) << text;
  EXPECT_EQ(count(text, "for c.z in [0, c.extent.2)"), 1) << text;
  EXPECT_EQ(count(text, "Register f32 c.carried0[1][1][1]"), 1) << text;
  EXPECT_EQ(count(text, " c[..] = ..."), 1) << text;
  EXPECT_EQ(count(code(c, Backend::Cuda, "simplify"), "rolled for c.z"), 1);
}

TEST(OwnReads, StepsThatAreWrittenOutAreTestedTogether) {
  const ImageParam u(Float(32), 3, "u");
  const std::string text = loops(walk(u), Backend::Cuda);
  EXPECT_EQ(count(text, "if 4 <= c.extent.2 - c.z*4"), 1) << text;
  EXPECT_EQ(count(text, "unrolled c.z.unroll in [0, 4)"), 1) << text;
  EXPECT_EQ(count(text, "for c.z.unroll in [0, min(4, c.extent.2 - c.z*4))"), 1) << text;
}

TEST(OwnReads, WhatIsReadAheadIsWalkedDownwards) {
  const ImageParam u(Float(32), 1, "u");
  Func d("d");
  d(x) = u(x) + d(x + 1);
  const std::string text = code(d, Backend::Host, "build_loop_nest");
  EXPECT_NE(text.find("d[d.min.0 + d.extent.0 - d.x - 1] = "), std::string::npos) << text;
}

TEST(OwnReads, AnUpdateWithColorsStepsFromPointToPoint) {
  Func p("p");
  p(x, y) = cast<float>(x);
  p(x, y) = p(x - 1, y) + p(x, y + 1);
  p.update().color((x + y) % 2);
  const std::string text = loops(p, Backend::Host);
  EXPECT_EQ(count(text, "produce p"), 3) << "the first definition and two colors\n" << text;
  EXPECT_EQ(count(text, "parallel p.u1.y"), 1) << text;
  EXPECT_EQ(count(text, "parallel p.u2.y"), 1) << text;
  EXPECT_EQ(count(text, "for p.u1.x in [0, min((max(p.extent.0 - 1, 0) + 1)/2, "), 1) << text;
  EXPECT_EQ(count(text, "for p.u2.x in [0, min((max(p.extent.0 - 1, 0) + 1)/2, "), 1) << text;
}

TEST(OwnReads, AnUpdateWithoutDirectivesReadsRowByRow) {
  const ImageParam u(Float(32), 3, "u");
  const RDom r({{0, 17}});  // more rows than a filter has
  Func f("f");
  f(x, y) = 0.0F;
  f(x, y) += u(x, y, r);
  const std::string text = loops(f, Backend::Host);
  const auto parallel = text.find("parallel f.u1.y");
  const auto reduction = text.find("for f.u1.r");
  const auto row = text.find("for f.u1.x");
  const auto vector = text.find("vectorized f.u1.x.vec");
  EXPECT_LT(parallel, reduction) << text;
  EXPECT_LT(reduction, row) << text;
  EXPECT_LT(row, vector) << text;
  EXPECT_NE(vector, std::string::npos) << text;
}

TEST(OwnReads, AnUpdateWithoutVarsRunsSerially) {
  const ImageParam u(UInt(8), 2, "u");
  const RDom r({{0, 9}, {0, 5}});
  Func histogram("histogram");
  histogram(x) = 0;
  histogram(clamp(cast<int>(u(r.x, r.y)), 0, 255)) += 1;
  const std::string text = loops(histogram, Backend::Host);
  const std::string update = text.substr(text.rfind("produce"));
  EXPECT_EQ(count(update, "parallel"), 0) << text;
  EXPECT_EQ(count(update, "for histogram.u1"), 2) << text;
}

}  // namespace
}  // namespace mica
