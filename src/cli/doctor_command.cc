#include "doctor_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "complain.h"
#include "heddle/core/text.h"
#include "output.h"
#include "report.h"
#include "wrap.h"

namespace heddle::cli {
namespace {

using jail::Layer;

constexpr std::size_t kLabelWidth = 18;
constexpr const char* kDoctorHelp = R"(Tell what this machine lets Heddle enforce: each layer of the boundary, why one
is missing, and what to do about it. It changes nothing.

Usage:
  heddle doctor [--json]

Exit codes: 0 all that a script worker needs is enforced here, 20 it is not,
64 usage, 74 output not written.
)";

// What the machine says of itself may hold anything.
std::string for_terminal(std::string_view text) { return core::printable_line(core::bound_text(text)); }

void add_labelled(std::string& out, std::string_view label, std::string_view text) {
  if (!text.empty()) add_wrapped(out, fmt::format("{:>{}}  ", label, kLabelWidth - 2), kLabelWidth, for_terminal(text));
}

void add_layers(std::string& out, const jail::Diagnosis& diagnosis, Layer::Need need) {
  for (const Layer& layer : diagnosis.layers) {
    if (layer.need != need) continue;
    const char* mark = layer.state == Layer::State::missing && need == Layer::Need::required
                           ? "MISSING"
                           : jail::state_name(layer.state);
    std::string line = fmt::format("  {:<10}  {:<38} {}", mark, layer.name, for_terminal(layer.version));
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.size() > kTerminalColumns) line.resize(kTerminalColumns);
    out += line + '\n';
    add_labelled(out, "why", layer.reason);
    add_labelled(out, "do", layer.advice);
  }
}

std::string where(const jail::Machine& machine) {
  std::string text = fmt::format(
      "heddle {} on Linux {} {}, as {}, {}", HEDDLE_VERSION, machine.release, machine.architecture,
      machine.root ? "root" : "an ordinary user",
      machine.container.empty() ? "in no container that shows itself" : "in a container (" + machine.container + ")");
  if (machine.outer_filters > 0) text += fmt::format(", under {} system call filters", machine.outer_filters);
  return text;
}

}  // namespace

std::string doctor_text(const jail::Machine& machine, const jail::Diagnosis& diagnosis) {
  std::string out;
  add_wrapped(out, "", 0, for_terminal(where(machine)));
  out += "\nWhat every script worker needs\n";
  add_layers(out, diagnosis, Layer::Need::required);
  out += "\nFurther layers\n";
  add_layers(out, diagnosis, Layer::Need::further);
  out += diagnosis.script_worker ? "\nScripts run here, behind everything that they need.\n"
                                 : "\nScripts do NOT run here: Heddle refuses them until what is MISSING is there.\n";
  return out;
}

std::string doctor_json(const jail::Machine& machine, const jail::Diagnosis& diagnosis) {
  using Json = nlohmann::ordered_json;
  Json layers = Json::array();
  for (const Layer& layer : diagnosis.layers) {
    layers.push_back({{"id", layer.id},
                      {"name", layer.name},
                      {"need", jail::need_name(layer.need)},
                      {"state", jail::state_name(layer.state)},
                      {"version", layer.version},
                      {"reason", core::bound_text(layer.reason)},
                      {"advice", core::bound_text(layer.advice)}});
  }
  const Json object = {{"heddle", HEDDLE_VERSION},
                       {"kernel", machine.release},
                       {"architecture", machine.architecture},
                       {"root", machine.root},
                       {"container", core::bound_text(machine.container)},
                       {"outerFilters", machine.outer_filters},
                       {"scriptWorker", diagnosis.script_worker ? "enforced" : "refused"},
                       {"layers", layers}};
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int run_doctor(const std::vector<std::string>& args, const std::function<jail::Machine()>& probe) {
  bool json = false;
  bool help = false;
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (args[i] == "--json" && !json) {
      json = true;
    } else if (args[i] == "--help" || args[i] == "-h") {
      help = true;
    } else {
      complain(core::bound_text(args[i], 300) + " is not expected here (heddle doctor --help lists all)");
      return kExitUsage;
    }
  }
  auto output = Output::open(STDOUT_FILENO);
  if (!output.ok()) {
    complain(output.error());
    return kExitOutput;
  }
  if (help) {
    output.value().add(kDoctorHelp);
    return finish(output.value(), 0);
  }
  const jail::Machine machine = probe();
  const jail::Diagnosis diagnosis = jail::diagnose(machine);
  if (json) {
    output.value().add_json(doctor_json(machine, diagnosis));
  } else {
    output.value().add(doctor_text(machine, diagnosis));
  }
  return finish(output.value(), diagnosis.script_worker ? 0 : kExitNotEnforced);
}

}  // namespace heddle::cli
