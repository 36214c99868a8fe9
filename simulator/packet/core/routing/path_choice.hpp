// Path selection at the sender, packet by packet, among the routes of its flow.
//
// A path choice is a file pair here and an entry in registry.hpp. Its rules have, beside their `fields`, the `name` of
// the data class in simulator/packet/load_balancing.py, and `choice`, which makes it for a simulation.
#pragma once

#include "fields.hpp"
#include "packets.hpp"
#include "random.hpp"

#include <memory>

namespace kuijia::packet {

class PathChoice {
  public:
    PathChoice() = default;
    PathChoice(const PathChoice &) = delete;
    PathChoice &operator=(const PathChoice &) = delete;
    virtual ~PathChoice() = default;

    // Returns the path that the packet takes, a number below `paths`. Its flow, direction and size are set.
    virtual std::uint32_t choose(const Packet &packet, std::uint32_t paths) = 0;
};

// Every packet of a flow takes the flow's first path. This saves a call per packet.
struct FixedPathRules {
    static constexpr const char *name = "FixedPath";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<PathChoice> choice(std::uint64_t) const { return nullptr; }
};

} // namespace kuijia::packet
