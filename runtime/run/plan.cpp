#include "runtime/run/plan.h"

#include "dsl/expr/traverse.h"

namespace mica {

namespace {

std::string list(const std::vector<Expr>& exprs) {
  std::string text;
  for (const Expr& e : exprs) text += (text.empty() ? "" : ", ") + to_string(e);
  return "(" + text + ")";
}

std::string argument_text(const KernelArgument& argument) {
  const std::string at = argument.at.empty() ? "" : list(argument.at);
  switch (argument.kind) {
    case KernelArgument::Kind::Pointer:
      return argument.name + ": " + to_string(argument.type) + "* " + argument.buffer + at +
             (argument.written ? " (written)" : "");
    case KernelArgument::Kind::Texture: return argument.name + ": texture " + argument.buffer + at;
    case KernelArgument::Kind::TextureOrigin: return argument.name + ": origin of " + argument.buffer;
    case KernelArgument::Kind::PrintLines: return argument.name + ": where lines go";
    case KernelArgument::Kind::Scalar:
      return argument.name + ": " + to_string(argument.type) + " = " + to_string(argument.value);
  }
  throw InternalError("a KernelArgument holds no legal Kind");
}

std::string launch_text(const PlanLaunch& launch) {
  std::string text = "launch " + launch.kernel;
  if (launch.on_device) {
    text += " on the device, grid " + list(launch.grid) + ", block (" + std::to_string(launch.block[0]) +
            ", " + std::to_string(launch.block[1]) + ", " + std::to_string(launch.block[2]) + "), " +
            std::to_string(launch.shared_bytes) + " bytes of shared memory";
  } else {
    text += " on the host";
  }
  if (launch.when.defined()) text += ", when " + to_string(launch.when);
  text += "\n";
  for (const KernelArgument& argument : launch.arguments) text += "  " + argument_text(argument) + "\n";
  return text;
}

}  // namespace

std::string to_string(const Variant& variant) {
  std::string text = variant.index32 ? "index32" : "index64";
  text += variant.aligned ? " aligned" : " unaligned";
  text += variant.grid3 ? " grid3" : " grid1";
  text += variant.unit_stride ? " unit_stride" : " any_stride";
  for (const Variant::Inner& inner : variant.inner) {
    text += " " + std::to_string(inner.stride) + ":" + std::to_string(inner.unit);
  }
  for (std::size_t i = 0; i < variant.chosen.size(); ++i) {
    text += (i == 0 ? " chosen " : ",") + std::to_string(variant.chosen[i]);
  }
  for (std::size_t i = 0; i < variant.alike.size(); ++i) {
    text += (i == 0 ? " alike " : ",") + std::to_string(variant.alike[i]);
  }
  return text + (variant.separate ? "" : " in_place") + (variant.overlapped ? " overlapped" : "");
}

std::string to_string(const Plan& plan) {
  std::string text;
  for (const PlanBuffer& buffer : plan.buffers) {
    text += std::string(buffer.is_output ? "output " : "input ") + buffer.name + ": " +
            to_string(buffer.type) + ", dimensions " + std::to_string(buffer.dimensions) + "\n";
  }
  for (const Plan::Scalar& scalar : plan.scalars) {
    text += "scalar " + scalar.name + ": " + to_string(scalar.param->type) + "\n";
  }
  for (const PlanValue& value : plan.values) {
    text += "value " + value.name + " = " + to_string(value.value) + "\n";
  }
  for (const PlanTemporary& temporary : plan.temporaries) {
    text += "temporary " + temporary.name + ": " + to_string(temporary.type) + ", mins " +
            list(temporary.mins) + ", extents " + list(temporary.extents) + "\n";
  }
  for (const PlanCheck& check : plan.checks) text += "check " + to_string(check.holds) + "\n";
  for (const PlanChoice& choice : plan.choices) text += "choice " + list(choice.conditions) + "\n";
  for (const PlanAlignment& alignment : plan.alignments) {
    text += "align " + alignment.buffer + list(alignment.at) + " to " + std::to_string(alignment.bytes) +
            " bytes\n";
  }
  for (const PlanSharing& pair : plan.sharing) {
    if (pair.obstacle.empty()) text += "output " + pair.output + " may be input " + pair.input + "\n";
  }
  for (const PlanLaunch& launch : plan.launches) text += launch_text(launch);
  return text;
}

}  // namespace mica
