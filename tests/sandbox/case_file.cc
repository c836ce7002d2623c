#include "case_file.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "heddle/core/text.h"

namespace heddle {
namespace {

using Json = nlohmann::json;
using Complaints = std::vector<std::string>;

// "ok", "scriptError", "limitExceeded", "limitExceeded:cpu", "ok:42"
bool is_one_of(const Json& outcome, const std::string& form) {
  const std::size_t colon = form.find(':');
  const std::string kind = form.substr(0, colon);
  if (outcome.at("outcome") != kind) return false;
  if (colon == std::string::npos) return true;
  const std::string rest = form.substr(colon + 1);
  return kind == "ok" ? outcome.at("value") == Json::parse(rest) : outcome.at("kind") == rest;
}

// Message, hint and note: where a failure or a remark says something to its author.
std::string said(const Json& outcome) {
  std::string text;
  for (const char* member : {"message", "hint", "note"}) text += outcome.value(member, std::string()) + "\n";
  return text;
}

std::string console_of(const Json& outcome) {
  std::string text;
  for (const Json& entry : outcome.value("console", Json::array())) text += entry.at("text").get<std::string>() + "\n";
  return text;
}

Complaints mentions(const std::string& text, const Json& words, bool wanted) {
  Complaints found;
  for (const Json& word : words) {
    const bool there = text.find(word.get<std::string>()) != std::string::npos;
    if (there != wanted) found.push_back((wanted ? "lacks " : "has ") + word.dump() + ": " + text.substr(0, 400));
  }
  return found;
}

Complaints same(const char* what, const Json& got, const Json& wanted) {
  if (got == wanted) return {};
  return {std::string(what) + " is " + got.dump().substr(0, 300) + ", not " + wanted.dump().substr(0, 300)};
}

// The list of globals in the guide for those who write scripts.
Json documented_globals() {
  std::ifstream file(std::string(HEDDLE_CASES_DIR) + "/../../docs/guide/javascript.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string guide = text.str();
  const std::string start = "These globals and no others (a test pins the list):";
  const std::size_t begin = guide.find(start);
  if (begin == std::string::npos) return {};
  std::istringstream words(guide.substr(begin + start.size(), guide.find("Not there:", begin) - begin - start.size()));
  std::vector<std::string> names;
  for (std::string word; words >> word;) names.push_back(word);
  std::sort(names.begin(), names.end());
  return names;
}

struct Run {
  const CaseRun& first;
  const CaseRun& again;
};
using Check = std::function<Complaints(const Json& wanted, const Run& run)>;

const std::map<std::string, Check>& checks() {
  static const Check remark = [](const Json&, const Run&) { return Complaints{}; };
  static const std::map<std::string, Check> all = {
      {"why", remark},
      {"note", remark},
      {"ok",
       [](const Json& wanted, const Run& run) {
         auto found = same("the outcome", run.first.outcome.at("outcome"), "ok");
         if (found.empty()) found = same("the value", run.first.outcome.at("value"), wanted);
         return found;
       }},
      {"ok_after_storing",
       [](const Json& wanted, const Run& run) {
         return same("the value", run.first.outcome.value("value", Json()), wanted);
       }},
      {"ok_keys",
       [](const Json& wanted, const Run& run) {
         const Json value = run.first.outcome.value("value", Json());
         std::vector<std::string> keys;
         for (const auto& item : value.items()) keys.push_back(item.key());
         return same("the keys", keys, wanted);
       }},
      {"ok_note",
       [](const Json& wanted, const Run& run) {
         auto found = same("the note", wanted, "exactly the list in the documentation; a test pins it");
         if (found.empty()) found = same("the value", run.first.outcome.value("value", Json()), documented_globals());
         return found;
       }},
      {"any_of",
       [](const Json& wanted, const Run& run) {
         const bool any = std::any_of(wanted.begin(), wanted.end(),
                                      [&](const Json& form) { return is_one_of(run.first.outcome, form); });
         return any ? Complaints{} : Complaints{"none of " + wanted.dump()};
       }},
      {"channel",
       [](const Json& wanted, const Run& run) { return same("the outcome", run.first.outcome.at("outcome"), wanted); }},
      {"kind", [](const Json& wanted,
                  const Run& run) { return same("the kind", run.first.outcome.value("kind", Json()), wanted); }},
      {"name", [](const Json& wanted,
                  const Run& run) { return same("the name", run.first.outcome.value("name", Json()), wanted); }},
      {"message_units_at_most",
       [](const Json& wanted, const Run& run) {
         const std::size_t units = core::utf16_units(run.first.outcome.value("message", std::string()));
         return units <= wanted ? Complaints{} : Complaints{"a message of " + std::to_string(units) + " units"};
       }},
      {"message_mentions",
       [](const Json& wanted, const Run& run) { return mentions(said(run.first.outcome), wanted, true); }},
      {"message_mentions_if_error",
       [](const Json& wanted, const Run& run) {
         if (run.first.outcome.at("outcome") == "ok") return Complaints{};
         return mentions(said(run.first.outcome), wanted, true);
       }},
      {"message_lacks",
       [](const Json& wanted, const Run& run) { return mentions(said(run.first.outcome), wanted, false); }},
      {"note_mentions",
       [](const Json& wanted, const Run& run) {
         auto found = same("the outcome", run.first.outcome.at("outcome"), "ok");
         if (found.empty()) found = mentions(run.first.outcome.value("note", std::string()), wanted, true);
         return found;
       }},
      {"console_mentions",
       [](const Json& wanted, const Run& run) { return mentions(console_of(run.first.outcome), wanted, true); }},
      {"console_bytes_at_most",
       [](const Json& wanted, const Run& run) {
         const std::size_t bytes = console_of(run.first.outcome).size();
         if (bytes == 0) return Complaints{"no console"};
         return bytes <= wanted ? Complaints{} : Complaints{"a console of " + std::to_string(bytes) + " bytes"};
       }},
      {"differs_between_runs",
       [](const Json& wanted, const Run& run) {
         const bool differs = run.first.outcome.value("value", Json()) != run.again.outcome.value("value", Json());
         return same("whether two runs differ", differs, wanted);
       }},
      {"within",
       [](const Json& wanted, const Run& run) {
         auto found = same("the stop", wanted, "30 s; the host's stop is sent at the deadline");
         if (run.first.took >= std::chrono::seconds(30)) {
           found.push_back("it took " + std::to_string(run.first.took.count()) + " ms");
         }
         return found;
       }},
      // Every case is followed by a run that must be clean, this one or not.
      {"then",
       [](const Json& wanted, const Run&) {
         return same("what comes then", wanted, "the next run gives the right answer with clean state");
       }},
  };
  return all;
}

}  // namespace

Json read_cases(const std::string& name) {
  std::ifstream file(std::string(HEDDLE_CASES_DIR) + "/" + name + ".json");
  return Json::parse(file);
}

Complaints complaints(const Json& expected, const CaseRun& run, const CaseRun& again) {
  Complaints found;
  for (const auto& item : expected.items()) {
    const auto check = checks().find(item.key());
    if (check == checks().end()) {
      found.push_back("nothing checks \"" + item.key() + "\"");
      continue;
    }
    for (std::string& line : check->second(item.value(), {run, again})) found.push_back(std::move(line));
  }
  return found;
}

bool ran_out_of_time(const Json& expected, const Json& outcome) {
  if (outcome.value("outcome", "") != "limitExceeded" || outcome.value("kind", "") == "memory") return false;
  if (outcome.value("kind", "") == "output") return false;
  return !complaints(expected, {outcome}, {outcome}).empty();
}

}  // namespace heddle
