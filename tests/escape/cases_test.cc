// Every line of tests/cases/kernel.md has a program that tries it: covered.txt names it, and what it names is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace heddle::jail {
namespace {

namespace fs = std::filesystem;
const std::string kSource = HEDDLE_SOURCE_DIR;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(kSource + "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The items of the list, each as one line.
std::vector<std::string> cases() {
  std::vector<std::string> items;
  for (const std::string& line : lines_of("tests/cases/kernel.md")) {
    if (line.rfind("- ", 0) == 0) items.push_back(line);
    if (line.rfind("  ", 0) == 0 && !items.empty()) items.back() += line.substr(1);
  }
  return items;
}

struct Covered {
  std::vector<std::string> attacks;
  std::vector<std::string> tests;
};

std::map<std::string, Covered> covered() {
  std::map<std::string, Covered> table;
  Covered* current = nullptr;
  for (const std::string& line : lines_of("tests/escape/covered.txt")) {
    if (line.rfind("- ", 0) == 0) {
      current = &table[line];
      continue;
    }
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (current == nullptr || kind.empty()) continue;
    EXPECT_TRUE(kind == "attack" || kind == "test") << line;
    for (std::string word; words >> word;) (kind == "attack" ? current->attacks : current->tests).push_back(word);
  }
  return table;
}

std::string sources() {
  std::string text;
  for (const char* folder : {"tests", "src"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSource + "/" + folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".cc") continue;
      std::ifstream file(entry.path());
      std::stringstream content;
      content << file.rdbuf();
      text += content.str();
    }
  }
  return text;
}

// JAIL-1 to JAIL-12: a new line without a program fails here, and so does a program that went away.
TEST(KernelCases, EveryLineHasAProgram) {
  const std::vector<std::string> items = cases();
  const std::map<std::string, Covered> table = covered();
  ASSERT_GT(items.size(), 20U);
  const std::string text = sources();
  std::string tried;
  for (const char* file : {"attacks.cc", "script_test.cc", "program_test.cc"}) {
    for (const std::string& line : lines_of(std::string("tests/escape/") + file)) tried += line + "\n";
  }
  std::set<std::string> names;
  for (const char* file : {"files", "memory", "processes", "sockets"}) {
    static const std::regex kRow("^ +\\{\"(\\w+)\"");
    for (const std::string& line : lines_of(std::string("tests/support/attack_") + file + ".cc")) {
      std::smatch match;
      if (std::regex_search(line, match, kRow)) names.insert(match[1].str());
    }
  }
  for (const std::string& item : items) {
    const auto found = table.find(item);
    ASSERT_NE(found, table.end()) << "no program for: " << item;
    EXPECT_FALSE(found->second.attacks.empty() && found->second.tests.empty()) << item;
    for (const std::string& attack : found->second.attacks) {
      EXPECT_EQ(names.count(attack), 1U) << attack;
      // Tried by a table of attacks, not only there to be tried.
      EXPECT_NE(tried.find("{\"" + attack + "\", "), std::string::npos) << attack << " is under no policy";
    }
    for (const std::string& test : found->second.tests) {
      const std::size_t dot = test.find('.');
      const std::string suite = test.substr(0, dot);
      const std::string name = test.substr(dot + 1);
      EXPECT_NE(text.find("(" + suite + ", " + name + ")"), std::string::npos) << test;
    }
  }
  EXPECT_EQ(table.size(), items.size()) << "covered.txt has a line that is no case";
}

}  // namespace
}  // namespace heddle::jail
