// A fact of a journal, and the state of a flow, for people and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "heddle/journal/core/fact.h"
#include "heddle/journal/core/flows.h"
#include "heddle/journal/core/fold.h"
#include "heddle/journal/core/replay.h"

namespace heddle::cli {

enum class Colour : std::uint8_t { no, yes };

/// "2026-11-29 18:43:54.123", UTC.
[[nodiscard]] std::string shown_time(journal::Time time);

/// Lines of at most 80 columns, the last one's end included. Whatever a guest said in it is harmless to a terminal.
[[nodiscard]] std::string fact_text(const journal::Fact& fact, Colour colour);
/// One object on one line, without its end; payload and body as they came but for line breaks between tokens.
[[nodiscard]] std::string fact_json(const journal::Fact& fact);

/// The bodies that a flow's state points to, by their fact's sequence.
using Bodies = std::map<std::uint64_t, std::string>;

[[nodiscard]] std::string flow_text(const std::string& id, const journal::FlowState& flow, Colour colour);
/// Likewise on one line.
[[nodiscard]] std::string flow_json(const std::string& id, const journal::FlowState& flow, const Bodies& bodies);

/// How a flow stands, and the effects of it that are in doubt.
[[nodiscard]] std::string flow_summary_text(const journal::FlowSummary& flow, Colour colour);
/// Likewise on one line.
[[nodiscard]] std::string flow_summary_json(const journal::FlowSummary& flow);

[[nodiscard]] std::string verified_text(const std::string& name, const journal::Verified& verified);
[[nodiscard]] std::string verified_json(const journal::Verified& verified);

}  // namespace heddle::cli
