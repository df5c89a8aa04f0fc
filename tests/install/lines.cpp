// Errors name the user's line whatever compiler the user has: built and run by clang.cmake.
#include <cstdio>
#include <functional>
#include <string>

#include <mica/mica.h>

namespace {

using namespace mica;

int mistakes = 0;

void expect_line(int line, const std::function<void()>& action) {
  try {
    action();
    std::printf("line %d: no UserError\n", line);
    ++mistakes;
  } catch (const UserError& error) {
    const bool here = error.where().line == line && error.where().file.ends_with("lines.cpp");
    if (here) return;
    std::printf("line %d: %s\n", line, error.what());
    ++mistakes;
  }
}

}  // namespace

int main() {
  const Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func f("f"), g("g");
  f(x, y) = u(x, y) * 2.0F;
  expect_line(__LINE__, [&] { f(x) = 1.0F; });
  expect_line(__LINE__, [&] { (void)u(x); });
  expect_line(__LINE__, [&] { (void)Expr().type(); });
  expect_line(__LINE__, [&] { ImageParam(Float(32), 9, "v"); });
  expect_line(__LINE__, [&] { g.compute_root(); });
  expect_line(__LINE__, [&] { g.vectorize(x, 4); });
  expect_line(__LINE__, [&] { g.split(x, "xo", "xi", 4); });
  expect_line(__LINE__, [&] { (void)BoundaryConditions::constant_exterior(u, Expr()); });
  expect_line(__LINE__, [&] { schedules::apply(f, "no/such"); });

  Buffer<float> in(8, 8), out(8, 8);
  in.fill(1.5F);
  u.set(in);
  f.realize(out, Target::host());
  if (out(7, 7) != 3.0F) ++mistakes;
  if (mistakes == 0) std::puts("every error names its line");
  return mistakes == 0 ? 0 : 1;
}
