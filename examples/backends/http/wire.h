// What goes over the wire between the backend and the service: a request and an outcome, as JSON. Input and value
// travel as JSON text inside a string, so that neither end changes a byte of them.
#pragma once

#include <optional>
#include <string>

#include "heddle/sandbox/spi/outcome.h"
#include "heddle/sandbox/spi/request.h"

namespace http_backend {

namespace spi = heddle::sandbox::spi;

std::string to_json(const spi::Request& request);
std::string to_json(const spi::Outcome& outcome);

// Nothing for what the other end cannot have meant.
std::optional<spi::Request> request_from_json(const std::string& text);
std::optional<spi::Outcome> outcome_from_json(const std::string& text);

}  // namespace http_backend
