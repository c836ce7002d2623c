#include "heddle/jail/confine/namespace_set.h"

namespace heddle::jail {

std::string to_text(NamespaceSet set) {
  constexpr const char* kNames[] = {"user", "pid", "mount", "ipc", "uts", "network"};
  std::string text;
  for (unsigned bit = 0; bit < sizeof kNames / sizeof kNames[0]; ++bit) {
    if ((set.bits() & (1U << bit)) == 0) continue;
    if (!text.empty()) text += ", ";
    text += kNames[bit];
  }
  return text.empty() ? "none" : text;
}

}  // namespace heddle::jail
