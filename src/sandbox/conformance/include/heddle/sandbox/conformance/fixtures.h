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
  std::string language;        ///< as backends declare it
  std::string echo;            ///< gives back `input`
  std::string throws;          ///< throws an error whose message holds `thrown_message`
  std::string thrown_message;  ///< not empty
  std::string throws_given;    ///< throws an error with the message `input`.message, of the kind `input`.name where
                               ///< the language has one of that name
  std::string syntax_error;    ///< does not parse
  std::vector<std::string> runaways;  ///< each never ends, in a way of its own; the first is a plain loop. One at
                                      ///< least, and two for a backend that declares a hard wall clock
  std::string allocate;               ///< allocates `input`.bytes bytes, holds on to all of them, gives true
  std::string allocation_bomb;        ///< allocates for ever, holding on to all of it
  std::string rich_value;             ///< gives {"built": V, "echoed": input}, with V of its own making
  std::string rich_built;             ///< V, as JSON: unicode, escapes, integers past 2^31, nesting
  std::vector<Probe> network_probes;  ///< each tries to connect to what listens at `input`.host and `input`.port, and
                                      ///< gives the names of the network facilities that it found: [] when none
  std::vector<Probe> escape_probes;   ///< each gives the names of what it reached of the host: [] when nothing
  std::string stateful;               ///< gives false and leaves a mark; true when it finds the mark
  std::string throws_vast;  ///< throws an error whose message begins with a lone surrogate, where the language
                            ///< has one, and goes on for 100 000 characters
};

/// The kit's own, for language "javascript".
[[nodiscard]] const Fixtures& javascript_fixtures();

/// From a JSON object with a string for each member above, but: `runaway` is one script or a list of them, `probes` is
/// {"network": {NAME: SCRIPT, …}, "escape": {NAME: SCRIPT, …}}, `rich_built` any value. Errc::malformed names what is
/// missing or too much.
[[nodiscard]] core::Result<Fixtures> parse_fixtures(std::string_view json);
/// What parse_fixtures takes, the same text each time: a record keeps it and its content address.
[[nodiscard]] std::string fixtures_json(const Fixtures& fixtures);

}  // namespace heddle::sandbox::conformance
