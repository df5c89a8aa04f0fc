#include "fuzz/step_places.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include "fuzz/compare_memory.h"
#include "fuzz/oracle.h"
#include "fuzz/random_data.h"

namespace mica::test {
namespace {

constexpr std::uint64_t kOwnNumbers = 0x9e3779b97f4a7c15ULL;

std::vector<std::int64_t> point_in(const Box& box, Random& random) {
  std::vector<std::int64_t> point;
  for (const auto& [min, extent] : box) point.push_back(random.between(min, min + extent - 1));
  return point;
}

std::vector<Place> places_in(const Box& box, Random& random) {
  std::vector<Place> places(static_cast<std::size_t>(random.between(1, 3)));
  for (Place& place : places) {
    for (auto n = random.between(1, 3); n > 0; --n) {
      const double weights[] = {1.0, 0.5, -0.375, 0.0};
      place.push_back({point_in(box, random), weights[random.below(4)]});
    }
  }
  return places;
}

template <typename T>
T& element(Buffer<T>& buffer, const std::vector<std::int64_t>& at) {
  return *static_cast<T*>(element_address(buffer, buffer.host_data_for_write(), at));
}

template <typename T>
void add_parts(const std::vector<Place>& places, Buffer<T> series, Buffer<T>& field, int number) {
  std::map<std::vector<std::int64_t>, T> amounts;
  for (std::size_t k = 0; k < places.size(); ++k) {
    for (const GridPoint& point : places[k]) {
      T& amount = amounts.emplace(point.at, T{0}).first->second;
      if (point.weight == 0) continue;
      const T part = element(series, {static_cast<std::int64_t>(k), number});
      amount = std::fma(static_cast<T>(point.weight), part, amount);
    }
  }
  for (const auto& [at, amount] : amounts) element(field, at) += amount;
}

template <typename T>
void take(const std::vector<Place>& places, Buffer<T> values, Buffer<T>& field, int number) {
  for (std::size_t k = 0; k < places.size(); ++k) {
    T value = static_cast<T>(places[k].front().weight) * element(field, places[k].front().at);
    for (std::size_t j = 1; j < places[k].size(); ++j) {
      const GridPoint& point = places[k][j];
      if (point.weight == 0) continue;
      value = std::fma(static_cast<T>(point.weight), element(field, point.at), value);
    }
    element(values, {static_cast<std::int64_t>(k), number}) = value;
  }
}

/// Calls `act` with `buffer`, of f32 or f64, as a buffer of that type.
template <typename Act>
void with_type(const AnyBuffer& buffer, const Act& act) {
  if (buffer.type() == Float(32)) {
    Buffer<float> typed(buffer);
    act(typed);
  } else {
    Buffer<double> typed(buffer);
    act(typed);
  }
}

}  // namespace

StepPlaces::StepPlaces(const FuzzCase& drawn, const std::vector<AnyBuffer>& fields,
                       const std::vector<Box>& boxes) {
  Random random(drawn.data_seed ^ kOwnNumbers);
  if (random.below(3) != 0) return;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Type type = fields[f].type();
    if (type != Float(32) && type != Float(64)) continue;
    for (const bool is_source : {true, false}) {
      if (random.coin()) continue;
      Box all;
      for (const BufferDim& dim : fields[f].dims()) all.emplace_back(dim.min, dim.extent);
      Call call{f, places_in(is_source ? boxes[f] : all, random), {}, {}};
      call.values = AnyBuffer(type, {static_cast<std::int64_t>(call.places.size()), drawn.steps});
      fill_random(call.values, random.next(), is_source ? drawn.contents : Contents::Ordinary);
      call.expected = call.values.copy();
      (is_source ? sources_ : receivers_).push_back(std::move(call));
    }
  }
}

void StepPlaces::add_to(Iteration& steps, const std::vector<ImageParam>& inputs) const {
  for (const Call& call : sources_) steps.add_at(inputs[call.field], call.places, call.values);
  for (const Call& call : receivers_) steps.record(inputs[call.field], call.places, call.values);
}

void StepPlaces::act(std::vector<AnyBuffer>& fields, int number) {
  for (Call& call : sources_) {
    with_type(fields[call.field], [&](auto& field) {
      add_parts(call.places, std::remove_reference_t<decltype(field)>(call.values), field, number);
    });
  }
  for (Call& call : receivers_) {
    with_type(fields[call.field], [&](auto& field) {
      take(call.places, std::remove_reference_t<decltype(field)>(call.expected), field, number);
    });
  }
}

void StepPlaces::forget() {
  for (Call& call : receivers_) fill_random(call.values, 1);
}

std::string StepPlaces::difference() const {
  for (const Call& call : receivers_) {
    const std::string differs = differing_bits(call.expected, call.values);
    if (!differs.empty()) return "receivers of field " + std::to_string(call.field) + ": " + differs;
  }
  return {};
}

}  // namespace mica::test
