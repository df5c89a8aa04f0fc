// Inputs: their accesses and bounds as expressions; what a Param points to.
#include <fmt/format.h>

#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/func/func.h"

namespace mica {

ImageParam::ImageParam(Type type, int dimensions, std::string name, CallSite at) {
  if (name.empty()) throw UserError("an input's name is empty", at);
  if (!is_user_type(type)) {
    throw UserError(
        fmt::format("input {} has type {}; inputs hold {}", name, to_string(type), user_types()), at);
  }
  if (dimensions < 1 || dimensions > kMaxDimensions) {
    throw UserError(
        fmt::format("input {} has {} dimensions; legal are 1 to {}", name, dimensions, kMaxDimensions),
        at);
  }
  auto data = std::make_shared<ImageData>();
  data->name = std::move(name);
  data->type = type;
  data->dimensions = dimensions;
  data->where = at;
  data_ = std::move(data);
}

Expr ImageParam::operator()(Expr x, CallSite at) const {
  return (*this)(std::vector<Expr>{std::move(x)}, at);
}
Expr ImageParam::operator()(Expr x, Expr y, CallSite at) const {
  return (*this)(std::vector<Expr>{std::move(x), std::move(y)}, at);
}
Expr ImageParam::operator()(Expr x, Expr y, Expr z, CallSite at) const {
  return (*this)(std::vector<Expr>{std::move(x), std::move(y), std::move(z)}, at);
}
Expr ImageParam::operator()(Expr x, Expr y, Expr z, Expr w, CallSite at) const {
  return (*this)(std::vector<Expr>{std::move(x), std::move(y), std::move(z), std::move(w)}, at);
}

Expr ImageParam::operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, CallSite at) const {
  return (*this)(
      std::vector<Expr>{std::move(x), std::move(y), std::move(z), std::move(w), std::move(d4)}, at);
}
Expr ImageParam::operator()(Expr x, Expr y, Expr z, Expr w, Expr d4, Expr d5, CallSite at) const {
  return (*this)(std::vector<Expr>{std::move(x), std::move(y), std::move(z), std::move(w), std::move(d4),
                                   std::move(d5)},
                 at);
}

Expr ImageParam::operator()(std::vector<Expr> args, CallSite at) const {
  if (static_cast<int>(args.size()) != dimensions()) {
    throw UserError(
        fmt::format("input {} is read with {}, but it has {}", name(), counted(args.size(), "argument"),
                    counted(static_cast<std::size_t>(dimensions()), "dimension")),
        at);
  }
  Access access;
  access.name = name();
  access.image = data_;
  access.where = at;
  for (std::size_t i = 0; i < args.size(); ++i) {
    access.args.push_back(coordinate(name(), i, args[i], at));
  }
  return make_expr(type(), std::move(access));
}

std::shared_ptr<const ParamData> make_param(std::string name, Type type, const SourceLocation& where) {
  if (name.empty()) throw UserError("a Param's name is empty", where);
  auto data = std::make_shared<ParamData>();
  data->name = std::move(name);
  data->type = type;
  return data;
}

ImageParam::Dimension ImageParam::dim(int d, CallSite at) const {
  if (d < 0 || d >= dimensions()) {
    throw UserError(fmt::format("dimension {} of input {}, which has {} (numbered from 0)", d, name(),
                                counted(static_cast<std::size_t>(dimensions()), "dimension")),
                    at);
  }
  return Dimension(data_, d);
}

Expr ImageParam::Dimension::min() const {
  return make_expr(Int(32), ImageField{image_, BufferField::Min, d_});
}
Expr ImageParam::Dimension::extent() const {
  return make_expr(Int(32), ImageField{image_, BufferField::Extent, d_});
}
Expr ImageParam::Dimension::max() const { return min() + extent() - 1; }
Expr ImageParam::Dimension::stride() const {
  return make_expr(Int(32), ImageField{image_, BufferField::Stride, d_});
}

}  // namespace mica
