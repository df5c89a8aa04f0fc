#include "tests/soak/problems.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "codegen/compile.h"

namespace mica::soak {
namespace {

const Var x("x"), y("y");

/// Values in [-1, 1), the same in every process.
Buffer<float> filled(const std::vector<BufferDim>& dims, std::uint64_t seed) {
  Buffer<float> buffer(dims);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  buffer.for_each([&](float& element, const Coordinates&) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    element = static_cast<float>(static_cast<std::int32_t>(state >> 32)) * 0x1p-31F;
  });
  return buffer;
}

float constant(int number) { return 0.25F + 0.03125F * static_cast<float>(number); }

std::vector<ImageParam> populations() {
  std::vector<ImageParam> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(Float(32), 2, "f" + std::to_string(i));
  return all;
}

}  // namespace

std::string bits_of(const std::vector<AnyBuffer>& buffers) {
  std::string bits;
  for (const AnyBuffer& buffer : buffers) {
    Buffer<float>(buffer).for_each([&](const float& element, const Coordinates&) {
      char bytes[sizeof(float)];
      std::memcpy(bytes, &element, sizeof(float));
      bits.append(bytes, sizeof(float));
    });
  }
  return bits;
}

std::string difference(const std::string& expected, const std::string& found) {
  if (expected == found) return {};
  if (expected.size() != found.size()) {
    return std::to_string(found.size()) + " bytes instead of " + std::to_string(expected.size());
  }
  std::size_t count = 0, first = 0;
  for (std::size_t i = found.size(); i-- > 0;) {
    if (expected[i] == found[i]) continue;
    ++count;
    first = i;
  }
  return std::to_string(count) + " of " + std::to_string(found.size()) +
         " bytes differ, the first is number " + std::to_string(first);
}

// ---- Blur ------------------------------------------------------------------------------------------

Blur::Blur(int number, const std::string& suffix)
    : near("near" + std::to_string(number) + suffix),
      blur("blur" + std::to_string(number) + suffix),
      input(filled({{-1, 66, 1}, {-1, 50, 66}}, 100 + static_cast<std::uint64_t>(number))) {
  near(x, y) = u(x - 1, y) * 0.3F + u(x, y) * constant(number) + u(x + 1, y) * 0.2F;
  blur(x, y) = near(x, y - 1) * 0.5F + near(x, y) + near(x, y + 1) * constant(number);
  u.set(input);
}

void Blur::schedule(int which) {
  if (which == 1) {
    near.compute_root().vectorize(x, 8);
    blur.parallel(y, 8).vectorize(x, 8);
  } else if (which == 2) {
    near.compute_at(blur, y);
    blur.parallel(y, 16);
  } else if (which == 3) {
    blur.parallel(y, 8).vectorize(x, 16);
  }
}

void Blur::on_gpu() {
  near.compute_root().gpu_tile(x, y, 32, 4);
  blur.gpu_tile(x, y, 32, 4);
}

Buffer<float> Blur::output() { return Buffer<float>(64, 48); }

// ---- Heat ------------------------------------------------------------------------------------------

Heat::Heat(int number) : steps({{u, defined(number)}}) {}

Func Heat::defined(int number) {
  next(x, y) = u(x, y) + constant(number) * 0.5F *
                             (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1) - 4.0F * u(x, y));
  return next;
}

Buffer<float> Heat::field(int number) {
  return filled({{0, 80, 1}, {0, 60, 80}}, 200 + static_cast<std::uint64_t>(number));
}

// ---- Lattice ---------------------------------------------------------------------------------------

Lattice::Lattice(int number) : u(populations()), next(defined(number)), steps(replaced()) {}

Func Lattice::defined(int number) const {
  const auto around = [](const ImageParam& field) { return BoundaryConditions::repeat_image(field); };
  const Expr f[] = {u[0](x, y), around(u[1])(x - 1, y), around(u[2])(x + 1, y), around(u[3])(x, y - 1),
                    around(u[4])(x, y + 1)};
  Func mean("mean"), after("next");
  mean(x, y) = (f[0] + f[1] + f[2] + f[3] + f[4]) * 0.2F;
  std::vector<Expr> values;
  for (const Expr& one : f) {
    values.push_back(one + constant(number) * (mean(x, y) - one) + 0.1F * max(f[1], f[3]));
  }
  after(x, y) = Tuple(values);
  return after;
}

std::vector<Replacement> Lattice::replaced() const {
  std::vector<Replacement> all;
  for (std::size_t i = 0; i < u.size(); ++i) all.emplace_back(u[i], next, static_cast<int>(i));
  return all;
}

std::vector<AnyBuffer> Lattice::fields(int number) const {
  std::vector<AnyBuffer> all;
  for (std::size_t i = 0; i < u.size(); ++i) {
    all.push_back(filled({{0, 64, 1}, {0, 24, 64}}, 300 + 10 * static_cast<std::uint64_t>(number) + i));
  }
  return all;
}

std::vector<RunInput> Lattice::inputs(const std::vector<AnyBuffer>& fields) const {
  std::vector<RunInput> all;
  for (std::size_t i = 0; i < u.size(); ++i) all.emplace_back(u[i], fields[i]);
  return all;
}

// ---- what is known before --------------------------------------------------------------------------

std::string name_of(const char* kind, int number) { return std::string(kind) + std::to_string(number); }

References compute_references() {
  References all;
  for (int n = 0; n < kProblems; ++n) {
    const Blur blur(n);
    Buffer<float> out = Blur::output();
    compile(blur.blur, Target::host(), {.bake = {}, .use_cache = false}).run(out);
    all[name_of("blur", n)] = bits_of({out});

    Heat heat(n);
    const Buffer<float> field = Heat::field(n);
    (void)heat.steps.run({{heat.u, field}}, kHeatSteps, {.target = Target::host()});
    all[name_of("heat", n)] = bits_of({field});

    Lattice lattice(n);
    const std::vector<AnyBuffer> fields = lattice.fields(n);
    (void)lattice.steps.run(lattice.inputs(fields), kLatticeSteps, {.target = Target::host()});
    all[name_of("lattice", n)] = bits_of(fields);
  }
  return all;
}

// A line "name bytes" before each one's bytes.
void write_references(const References& references, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  for (const auto& [name, bits] : references) out << name << ' ' << bits.size() << '\n' << bits;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

References read_references(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  References all;
  std::string name;
  std::size_t bytes = 0;
  while (in >> name >> bytes) {
    std::string bits(bytes, '\0');
    in.get();
    if (!in.read(bits.data(), static_cast<std::streamsize>(bytes))) break;
    all[name] = std::move(bits);
  }
  if (all.size() != std::size_t{3} * kProblems) throw std::runtime_error("no references in " + path);
  return all;
}

}  // namespace mica::soak
