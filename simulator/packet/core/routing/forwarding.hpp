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
#include <stdexcept>
#include <vector>

namespace kuijia::packet {

inline constexpr std::uint32_t no_link = 0xffffffff;

// Label table of a switch: packets with `labels[i]` leave by `links[i]`. Labels rise.
struct LabelTable {
    std::vector<std::uint32_t> labels;
    std::vector<std::uint32_t> links;
};

class TableSwitched;

class Forwarding {
  public:
    Forwarding() = default;
    Forwarding(const Forwarding &) = delete;
    Forwarding &operator=(const Forwarding &) = delete;
    virtual ~Forwarding() = default;

    // Returns the link by which a packet to `target`, which came by `link`, leaves `node`, or `no_link` if routing
    // knows none.
    virtual std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now,
                               std::uint32_t link) = 0;

    // Adds a route for senders. Its packets come with its number in `hop`, which the forwarding may change.
    virtual void add_route(std::uint32_t, const std::vector<std::uint32_t> &) {}

    // Get and set the label table of a node. Both throw std::invalid_argument if switches have no such table, and
    // `set_table` if the new table is invalid: the old one stays then.
    virtual const LabelTable &table(std::uint32_t) const { throw std::invalid_argument(no_tables); }
    virtual void set_table(std::uint32_t, LabelTable) { throw std::invalid_argument(no_tables); }

    // The switch at the head of a link learns that it has failed or is back; shortest paths have learnt it already.
    virtual void set_known(std::uint32_t, bool) {}

    // Returns this forwarding; throws std::invalid_argument if switches have no flow tables.
    virtual TableSwitched &switches() { throw std::invalid_argument("the switches have no flow tables"); }

    static constexpr const char *no_tables = "the switches do not forward by labels";
};

// Packets follow the route that the sender chose; switches choose nothing. This saves a call per packet.
struct SourceRoutedRules {
    static constexpr const char *name = "SourceRouted";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &, std::uint64_t) const { return nullptr; }
};

} // namespace kuijia::packet
