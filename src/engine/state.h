#pragma once

#include "heddle/engine/engine.h"
#include "script.h"

namespace heddle::engine {

struct Engine::State {
  Guest guest;
  Script script{guest};
};

}  // namespace heddle::engine
