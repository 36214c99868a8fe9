// The division of a network into parts, between which packets take so long that threads can do them side by side.
#pragma once

#include "scenario.hpp"
#include "units.hpp"

#include <cstdint>
#include <vector>

namespace kuijia::packet {

struct Parting {
    std::vector<std::uint32_t> of_node;
    std::uint32_t parts;
    std::vector<std::vector<Time>> delays; // of a packet from one part to another, at least; `never` without a link
    Time shortest;                         // of these
};

// Returns the parts of a valid scenario. Throws std::invalid_argument, saying why, if there is no sensible division or
// if one part would depend on another without delay.
Parting parted(const Scenario &scenario);

} // namespace kuijia::packet
