// Lesson 3: the same algorithm under three schedules of the CPU.
#include <cstdio>
#include <cstring>

#include <mica/mica.h>

using namespace mica;

namespace {

// A blur of 3 x 3 points in two stages.
struct Blur {
  Var x{"x"}, y{"y"};
  ImageParam u{Float(32), 2, "u"};
  Func rows{"rows"}, blur{"blur"};

  Blur() {
    rows(x, y) = (u(x - 1, y) + u(x, y) + u(x + 1, y)) / 3;
    blur(x, y) = (rows(x, y - 1) + rows(x, y) + rows(x, y + 1)) / 3;
  }
};

bool same_bits(const Buffer<float>& a, const Buffer<float>& b) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.elements()) * sizeof(float)) == 0;
}

}  // namespace

int main() {
  auto in = Buffer<float>::with_halo({511, 300}, {1, 1});
  in.for_each([](float& value, const Coordinates& at) {
    value = static_cast<float>((at[0] * 7 + at[1] * 13) % 101);
  });

  // 1: nothing said. `rows` is computed at each of its uses, the loops are chosen.
  Blur plain;
  plain.u.set(in);
  Buffer<float> first(511, 300);
  plain.blur.realize(first, Target::host());

  // 2: `rows` whole, before `blur`: nothing is computed twice, but all of it goes through memory.
  Blur whole;
  whole.rows.compute_root().vectorize(whole.x, 8).parallel(whole.y);
  whole.blur.vectorize(whole.x, 8).parallel(whole.y);
  whole.u.set(in);
  Buffer<float> second(511, 300);
  whole.blur.realize(second, Target::host());

  // 3: strips of 32 rows in parallel; in a strip each row of `rows` is computed once and kept.
  Blur strips;
  strips.blur.split(strips.y, "strip", "row", 32).parallel("strip").vectorize(strips.x, 8);
  strips.rows.compute_at(strips.blur, "row").store_at(strips.blur, "strip").vectorize(strips.x, 8);
  strips.u.set(in);
  Buffer<float> third(511, 300);
  strips.blur.realize(third, Target::host());
  std::printf("%s", strips.blur.print_loop_nest(Target::host()).c_str());

  std::printf("the same bits: %s, %s\n", same_bits(first, second) ? "yes" : "no",
              same_bits(first, third) ? "yes" : "no");
}
