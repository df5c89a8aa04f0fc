// The floating-point mode that a program sets changes none of Mica's bits, and is there again after.
#include "dsl/expr/float_mode.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/finite_difference.h"
#include "dsl/func/func.h"
#include "runtime/buffer/buffer.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace mica {
namespace {

const Var x("x"), y("y");

/// A mode that a program may set, and its name.
struct Mode {
  const char* name;
  int rounding;
  unsigned control;  // of the SSE unit: the bits in which it differs from the default
};

std::vector<Mode> modes() {
  std::vector<Mode> all = {
      {"upward", FE_UPWARD, 0}, {"downward", FE_DOWNWARD, 0}, {"toward zero", FE_TOWARDZERO, 0}};
#if defined(__SSE2__)
  all.push_back({"subnormal results flushed", FE_TONEAREST, 0x8000});
  all.push_back({"subnormal operands are zero", FE_TONEAREST, 0x0040});
  all.push_back({"upward, flushed, zero", FE_UPWARD, 0x8040});
  all.push_back({"traps", FE_TONEAREST, 0x1e80});
#endif
  return all;
}

/// Sets a mode for its lifetime, in which check() says whether it is still set.
class Within {
 public:
  explicit Within(const Mode& mode) : mode_(mode) {
    std::fegetenv(&before_);
    std::fesetround(mode.rounding);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() ^ mode.control);
    set_ = _mm_getcsr() & ~0x3fU;
#endif
  }
  ~Within() {
    EXPECT_EQ(std::fegetround(), mode_.rounding) << mode_.name;
#if defined(__SSE2__)
    EXPECT_EQ(_mm_getcsr() & ~0x3fU, set_) << mode_.name;
#endif
    std::fesetenv(&before_);
  }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  const Mode& mode_;
  std::fenv_t before_{};
  unsigned set_ = 0;
};

/// What `make` returns in the default mode and in all others; the same bits are expected.
template <typename Make>
void expect_the_same(const Make& make) {
  const auto expected = make();
  for (const Mode& mode : modes()) {
    decltype(make()) actual;
    {
      const Within within(mode);
      actual = make();
    }
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(std::memcmp(&actual[i], &expected[i], sizeof(actual[i])), 0)
          << mode.name << ", element " << i << ": " << actual[i] << ", not " << expected[i];
    }
  }
}

TEST(FloatMode, IsTheDefaultWithinAndWhatItWasAfter) {
  volatile float third = 3, smallest = std::numeric_limits<float>::denorm_min();
  const float nearest = 1 / third;
  for (const Mode& mode : modes()) {
    float divided = 0, kept = 0;
    {
      const Within within(mode);
      const DefaultFloatMode inner;
      const DefaultFloatMode nested;
      divided = 1 / third;
      kept = smallest * 1;
    }
    EXPECT_EQ(divided, nearest) << mode.name;
    EXPECT_GT(kept, 0.0F) << mode.name;
  }
}

TEST(FloatMode, ChangesNoConstant) {
  expect_the_same([] {
    std::vector<double> values;
    volatile float subnormal = 1.23e-41F;
    volatile double tenth = 0.1, tiny = 1.23e-316, small = 1.23e-41;
    volatile std::int64_t large = (std::int64_t{1} << 62) + 12345;
    ImageParam u(Float(32), 1, "u");
    for (const Type type : {Float(16), BFloat(), Float(32), Float(64)}) {
      values.push_back(make_const(type, double{tenth}).as<FloatImm>()->value);
      values.push_back(make_const(type, double{-tenth}).as<FloatImm>()->value);
      values.push_back(make_const(type, std::int64_t{large}).as<FloatImm>()->value);
      values.push_back(make_const(type, double{tiny}).as<FloatImm>()->value);
      values.push_back(round_to_type(type, double{small}));
      values.push_back(Expr(float{subnormal}).as<FloatImm>()->value);
      values.push_back((u(x) * float{subnormal}).as<Binary>()->b.as<FloatImm>()->value);
      values.push_back(static_cast<double>(as_int(make_const(Bool(), double{tiny}))[0]));
    }
    const Expr product = u(x) * double{tenth};
    values.push_back(product.as<Binary>()->b.as<FloatImm>()->value);
    return values;
  });
}

TEST(FloatMode, ChangesNoWeight) {
  expect_the_same([] {
    std::vector<double> values = finite_difference_weights(1, {-1.5, 0.1, 0.7, 2.3, 3.1}, 0.3);
    for (const int order : {2, 8, 20}) {
      for (const auto& weights :
           {central_difference_weights(1, order), central_difference_weights(2, order),
            staggered_difference_weights(order)}) {
        values.insert(values.end(), weights.begin(), weights.end());
      }
    }
    return values;
  });
}

/// Sums, quotients, roots, functions and casts of numbers that no mode treats alike, some subnormal,
/// with scalars that the host works out.
class Pipeline {
 public:
  explicit Pipeline(const Target& target) {
    const Expr u = u_(x, y), v = u_(x + 1, y);
    const Expr scale = cast(Float(32), c_ / 3.0) + cast(Float(32), u_.width()) * 0.1F;
    f_(x, y) = u * scale + v / 7.0F + sqrt(abs(u)) + exp(v) * 1e-3F + pow(abs(u), 0.3F) +
               cast(Float(32), cast(Float(16), v * 0.1F)) + cast(Float(32), cast(BFloat(), u)) +
               cast(Float(32), cast(Float(64), u) * 0.1) + u * 1e-30F * 1e-10F +
               (u_(x, y + 1) - u) * 0.7F;
    if (target.is_gpu()) {
      f_.gpu_tile(x, y, 16, 4);
    } else {
      f_.vectorize(x, 8).parallel(y);
    }
    const DefaultFloatMode mode;
    for (int j = 0; j <= kExtent; ++j) {
      for (int i = 0; i <= kExtent; ++i) {
        in_(i, j) = std::ldexp(1.0F + 0.37F * static_cast<float>(i) + 0.0123F * static_cast<float>(j),
                               (i * 7 + j * 3) % 5 == 0 ? -140 : (i + j) % 9 - 4);
      }
    }
    u_.set(in_);
  }
  std::vector<float> run(const Executable& compiled) {
    Executable executable = compiled;
    c_.set(0.1);
    Buffer<float> out(kExtent, kExtent);
    executable.run(out);
    return {out.data(), out.data() + out.elements()};
  }
  Func& f() { return f_; }

 private:
  static constexpr int kExtent = 64;
  ImageParam u_{Float(32), 2, "u"};
  Param<double> c_{"c"};
  Func f_{"f"};
  Buffer<float> in_{kExtent + 1, kExtent + 1};
};

void check_runs(const Target& target) {
  Pipeline pipeline(target);
  const Executable executable = compile(pipeline.f(), target);
  (void)pipeline.run(executable);  // what is made once is made in the default mode
  expect_the_same([&] { return pipeline.run(executable); });
  // The same where all is made in the other mode.
  expect_the_same([&] {
    Pipeline fresh(target);
    return fresh.run(compile(fresh.f(), target));
  });
  expect_the_same([&] {
    Pipeline fresh(target);
    return fresh.run(compile(fresh.f(), target));
  });
}

TEST(FloatMode, ChangesNoBitOfARunOnTheHost) { check_runs(Target::host()); }
TEST(FloatMode, ChangesNoBitOfARunOnTheEmulator) { check_runs(Target::gpu_emulator()); }

TEST(FloatMode, ChangesNoCode) {
  expect_the_same([] {
    Pipeline pipeline(Target::gpu_emulator());
    return compile_to_ptx(pipeline.f()) +
           code_after_pass(pipeline.f(), Target::gpu_emulator(), "expand_math");
  });
}

}  // namespace
}  // namespace mica
