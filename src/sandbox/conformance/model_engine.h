// A sandbox engine for a language of a dozen words, the kit's scripts in that language, and the ways in which it can be
// broken on purpose.
#pragma once

#include <atomic>
#include <memory>

#include "heddle/sandbox/conformance/conformance.h"
#include "heddle/sandbox/spi/blocking.h"

namespace heddle::sandbox::conformance {

enum class Break {
  nothing,
  loses_empty_lists,       // echo
  loses_the_message,       // throw
  no_known_kind,           // throw
  throws_typed_failure,    // throw: an exception that would like to be a channel
  syntax_is_the_hosts,     // syntax error
  clock_is_an_exception,   // runaway loop: the engine's own text for its clock
  never_comes_back,        // runaway loop: only a stop ends it
  cpu_is_a_lie,            // cpu budget
  memory_is_a_lie,         // allocation bomb
  memory_is_an_exception,  // allocation bomb: read as an error of the script's
  rounds_integers,         // rich value
  mangles_unicode,         // rich value
  leaks_a_host_object,     // no escape
  leaks_the_network,       // no escape: it says nothing, but a connection arrives
  pools_contexts,          // fresh per run: two contexts, so that the third run meets the first one's
  shares_under_load,       // fresh per run: only among runs at once
  ignores_the_stop,        // aborted mid-run
};

struct ModelOptions {
  Break broken = Break::nothing;
  spi::Capabilities declaration;
};

/// Everything declared, everything held.
[[nodiscard]] spi::Capabilities best_declaration();
[[nodiscard]] const Fixtures& model_fixtures();
[[nodiscard]] BackendFactory model_factory(ModelOptions options);

}  // namespace heddle::sandbox::conformance
