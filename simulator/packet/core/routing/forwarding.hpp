// Forwarding at switches: the link by which a packet leaves a node.
//
// A kind of forwarding is a file pair here and an entry in registry.hpp. Its rules have, beside their `fields`, the
// `name` of the data class in simulator/packet/load_balancing.py, and `forwarding`, which makes it for a network.
#pragma once

#include "fields.hpp"
#include "packets.hpp"
#include "random.hpp"
#include "routing/shortest_paths.hpp"

#include <memory>

namespace kuijia::packet {

inline constexpr std::uint32_t no_link = 0xffffffff;

class Forwarding {
  public:
    Forwarding() = default;
    Forwarding(const Forwarding &) = delete;
    Forwarding &operator=(const Forwarding &) = delete;
    virtual ~Forwarding() = default;

    // Returns the link by which a packet to `target` leaves `node`; `no_link` if routing knows none.
    virtual std::uint32_t next(std::uint32_t node, std::uint32_t target, const Packet &packet, Time now) = 0;
};

// Packets follow the route that the sender chose, switches choose nothing: the fast path, without a call per packet.
struct SourceRoutedRules {
    static constexpr const char *name = "SourceRouted";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &, std::uint64_t) const { return nullptr; }
};

} // namespace kuijia::packet
