// Fixtures: the kit's scripts in one language. Each sees `input` and gives back a JSON value in the backend's own way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/result.h"

namespace heddle::sandbox::conformance {

struct Probe {
  std::string name;
  std::string script;
};

struct Fixtures {
  std::string language;         ///< as backends declare it
  std::string echo;             ///< gives back `input`
  std::string throws;           ///< throws an error whose message holds `thrown_message`
  std::string thrown_message;   ///< not empty
  std::string syntax_error;     ///< does not parse
  std::string runaway;          ///< never ends, and never waits
  std::string allocation_bomb;  ///< allocates for ever, holding on to all of it
  std::string rich_value;       ///< gives {"built": V, "echoed": input}, with V of its own making
  std::string rich_built;       ///< V, as JSON: unicode, escapes, integers past 2^31, nesting
  std::vector<Probe>
      probes;  ///< each gives the names of what it reached of the host or a network: [] when nothing; input is
               ///< {"host":…,"port":…} of something that listens
  std::string stateful;     ///< gives false and leaves a mark; true when it finds the mark
  std::string throws_vast;  ///< throws an error whose message begins with a lone surrogate, where the language has
                            ///< one, and goes on for 100 000 characters
};

/// The kit's own, for language "javascript".
[[nodiscard]] const Fixtures& javascript_fixtures();

/// From a JSON object with a string for each member above; `probes` is an object of scripts by name, `rich_built` any
/// value. Errc::malformed names what is missing or too much.
[[nodiscard]] core::Result<Fixtures> parse_fixtures(std::string_view json);

}  // namespace heddle::sandbox::conformance
