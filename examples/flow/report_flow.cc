#include "report_flow.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "heddle/core/fd.h"

namespace heddle::example {
namespace {

using effect::Flow;
using effect::Reply;
using nlohmann::json;
using Text = Reply<std::string>;

struct Addresses {
  std::string by_letter;
  std::string longest;
  std::string strict;
};

core::Result<std::string> add_script(sandbox::MemoryScripts& scripts, const std::string& name) {
  const std::string path = HEDDLE_EXAMPLE_DIR "/" + name;
  const core::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return core::system_error("open", path);
  HEDDLE_ASSIGN(const std::string text, core::read_all(file, std::size_t{1} << 20));
  return scripts.add(text).text();
}

std::string evaluation(const std::string& script, const std::string& data) {
  return "{\"script\":\"" + script + "\",\"input\":" + data + "}";
}

void have(const Flow& flow, std::string_view key, std::string_view what) {
  fmt::print("have {}/{} {}\n", flow.id(), key, what);
  (void)std::fflush(stdout);
}

Text report(const Addresses& scripts, Flow& flow) {
  Text data = flow.ask("file.read", flow.input_json());
  if (!data.ok()) return data;
  have(flow, "1", fmt::format("{} bytes of data", data.value().size()));

  const std::vector<effect::Ask> both{{"sandboxEval", evaluation(scripts.by_letter, data.value()), {}},
                                      {"sandboxEval", evaluation(scripts.longest, data.value()), {}}};
  const std::vector<Text> made = flow.ask_together(both);
  for (const Text& one : made) {
    if (!one.ok()) return one;
  }
  have(flow, "2.1.1", "countries by letter");
  have(flow, "2.2.1", "the longest names");

  json notes = json::array();
  Text strict = flow.ask("sandboxEval", evaluation(scripts.strict, data.value()));
  if (strict.is_typed()) {
    notes.push_back("the check for official names failed: " + strict.typed().message);
  } else if (!strict.ok()) {
    return strict;
  }
  have(flow, "3",
       strict.is_typed() ? strict.typed().channel + ": " + strict.typed().message : "all have official names");

  Text mail = flow.ask("mail.send", R"({"to":"everybody","subject":"countries"})");
  if (mail.is_typed()) {
    notes.push_back("nobody was told: " + mail.typed().message);
  } else if (!mail.ok()) {
    return mail;
  }
  have(flow, "4", mail.is_typed() ? mail.typed().channel + ": " + mail.typed().message : "sent");

  json whole;
  whole["byLetter"] = json::parse(made[0].value());
  whole["longest"] = json::parse(made[1].value());
  whole["notes"] = notes;
  effect::AskOptions patient;
  patient.attempts = 3;
  Text published = flow.ask("file.publish", whole.dump(2) + "\n", patient);
  if (!published.ok()) return published;
  have(flow, "5", "published as " + published.value());

  Text entry = flow.ask("file.append", json(flow.id() + " published").dump());
  if (!entry.ok()) return entry;
  have(flow, "6", "a line in the ledger");
  return published;
}

}  // namespace

core::Result<std::function<Text(Flow&)>> report_flow(sandbox::MemoryScripts& scripts) {
  Addresses addresses;
  HEDDLE_ASSIGN(addresses.by_letter, add_script(scripts, "by_letter.js"));
  HEDDLE_ASSIGN(addresses.longest, add_script(scripts, "longest.js"));
  HEDDLE_ASSIGN(addresses.strict, add_script(scripts, "strict.js"));
  return std::function<Text(Flow&)>([addresses](Flow& flow) { return report(addresses, flow); });
}

}  // namespace heddle::example
