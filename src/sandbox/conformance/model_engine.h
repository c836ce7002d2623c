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
  loses_empty_lists,          // echo
  loses_the_message,          // throw
  no_known_kind,              // throw
  throws_typed_failure,       // throw: an exception that would like to be a channel
  syntax_is_the_hosts,        // syntax error
  reads_limits_from_text,     // limit from text: of a thrown error's message
  reads_limits_from_value,    // limit from text: of what the script gives back
  clock_is_an_exception,      // runaway loop: the engine's own text for its clock
  never_comes_back,           // runaway loop: only a stop ends it
  one_loop_has_no_clock,      // runaway loop: the second runaway script alone
  cpu_is_a_lie,               // cpu budget
  memory_is_a_lie,            // allocation bomb
  memory_is_an_exception,     // allocation bomb: read as an error of the script's
  cap_is_eight_times,         // memory as asked
  cap_is_the_first,           // memory as asked: the limit of the first run holds for all
  cap_is_an_eighth,           // memory as asked: less than was asked for
  rounds_integers,            // rich value
  mangles_unicode,            // rich value
  crosses_answers,            // own answers: of two runs at once one is given the other's
  crosses_endings,            // own answers: one that throws and one that gives a value change places
  leaks_a_host_object,        // no escape
  leaks_the_network,          // no escape: it says nothing, but a connection arrives
  shows_network_objects,      // no escape, where network is none: a name alone, and nothing is reached
  pools_contexts,             // fresh per run: two contexts, so that the third run meets the first one's
  pools_many_contexts,        // fresh per run: more than the first runs in sequence and one batch use
  shares_under_load,          // fresh per run: only among runs at once
  keeps_what_load_left,       // fresh per run: what runs at once left is seen by a run that comes later
  dead_after_throw,           // alive after
  dead_after_syntax_error,    // alive after
  dead_after_limit,           // alive after
  dead_after_stop,            // alive after
  dead_after_memory,          // alive after
  ignores_the_stop,           // aborted mid-run
  one_loop_ignores_the_stop,  // aborted mid-run: the second runaway script alone
  capabilities_alternate,     // capabilities hold
  capabilities_by_instance,   // capabilities hold: each backend has its own
  capabilities_block,         // capabilities hold: from the third reading on
  capabilities_throw,         // capabilities hold: from the third reading on
  warm_blocks,                // calls return
  warm_throws,                // calls return
  evaluate_blocks,            // calls return: until its run has ended
  take_blocks,                // calls return
  drop_blocks,                // calls return: the destructor of an evaluation
  close_blocks,               // calls return: as long as a run goes on
  close_throws,               // calls return
  close_closes_nothing,       // calls return: a later run works
  destructor_blocks,          // calls return: that of the backend
  leaks_threads,              // leaks nothing
  leaks_descriptors,          // leaks nothing
  leaks_on_a_stop,            // leaks nothing: descriptors, where a run is stopped
  leaks_on_a_limit,           // leaks nothing: the same where a limit ends one
  leaks_processes,            // leaks nothing
  leaks_memory,               // leaks nothing
  leaves_a_child,             // outlives nothing
  leaves_a_daemon,            // outlives nothing: its parent is gone, and its session is its own
  ends_its_process,           // composition: where a script throws at length; of a backend in its own process only
  leaves_its_process,         // the same with exit(0)
};
inline constexpr int kBreaks = static_cast<int>(Break::leaves_its_process) + 1;

struct ModelOptions {
  Break broken = Break::nothing;
  spi::Capabilities declaration;
};

/// Everything declared, everything held.
[[nodiscard]] spi::Capabilities best_declaration();
[[nodiscard]] const Fixtures& model_fixtures();
[[nodiscard]] BackendFactory model_factory(ModelOptions options);

/// What blocks returns once this is set: tests end with no thread of theirs left.
void release_the_blocked();

}  // namespace heddle::sandbox::conformance
