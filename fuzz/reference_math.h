// The math functions of the language in plain C++: what exp, log, sin, cos, tanh, pow, atan2 and fmod
// return on every target, bit for bit.
//
// The oracle of the numeric tests calls these, never the C library's functions. They use +, -, *, /,
// std::fma, std::floor and bit operations only, follow the same formulas as
// codegen/passes/math/math_f32.cpp, math_f64.cpp and math_binary.cpp, and share no code with them.
#pragma once

namespace mica::test {

float reference_exp(float x);
float reference_log(float x);
float reference_sin(float x);
float reference_cos(float x);
float reference_tanh(float x);
float reference_pow(float x, float y);
float reference_atan2(float y, float x);
float reference_fmod(float a, float b);

double reference_exp(double x);
double reference_log(double x);
double reference_sin(double x);
double reference_cos(double x);
double reference_tanh(double x);
double reference_pow(double x, double y);
double reference_atan2(double y, double x);
double reference_fmod(double a, double b);

}  // namespace mica::test
