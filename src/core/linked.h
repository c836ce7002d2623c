// A mark in every object file of this module, which everything else of Heddle's links: a copy is found in whatever it
// was linked into, stripped or not (`heddle plugin check`).
#pragma once

namespace heddle::core {

[[gnu::used, gnu::retain]] static constexpr char kLinkedMark[] = "heddle-part-9c41f07be25d6a38";

}  // namespace heddle::core
