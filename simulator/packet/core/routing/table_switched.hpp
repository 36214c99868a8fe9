// Switches that follow flow tables and groups as a controller writes them: labels, hash slots, fast failover, queues.
//
// Tables, groups and the liveness of ports may be changed while packets are on their way. A switch without tables
// forwards by shortest paths, and hosts forward nothing.
#pragma once

#include "routing/forwarding.hpp"
#include "routing/switch_ecmp.hpp"
#include "routing/switch_pipeline.hpp"

namespace kuijia::packet {

struct TableSwitchedRules {
    static constexpr const char *name = "TableSwitched";
    std::vector<std::uint32_t> addresses; // IPv4 address of each node; 0 for those that are missing
    std::vector<std::uint32_t> out_ports; // of each link at the switch that sends; links without one are in no port
    std::vector<std::uint32_t> in_ports;  // of each link at the switch that receives; 0 for those that are missing
    std::vector<std::uint32_t>
        code_points;                   // of packets when they leave their host, by level; higher ones have the last
    std::vector<std::uint32_t> queues; // numbers of the queues of a port, in the order of service
    std::uint32_t other_queue = 0;     // position in `queues` for packets with no queue, or an unknown one

    static auto fields() {
        constexpr auto most = absent - 1;
        return std::tuple{
            numbers("addresses", &TableSwitchedRules::addresses, 0, absent, "must be IPv4 addresses"),
            numbers("out_ports", &TableSwitchedRules::out_ports, 0, most, "must be below 2^32 - 1"),
            numbers("in_ports", &TableSwitchedRules::in_ports, 0, most, "must be below 2^32 - 1"),
            numbers("code_points", &TableSwitchedRules::code_points, 0, 63, "must be between 0 and 63"),
            numbers("queues", &TableSwitchedRules::queues, 0, 0xffff, "must be below 2^16"),
            number("other_queue", &TableSwitchedRules::other_queue, 0, 255, "must be below 256"),
        };
    }
    const char *fault() const { return queues.size() > 256 ? "there must be at most 256 queues" : nullptr; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &paths, std::uint64_t seed) const;
};

class TableSwitched final : public Forwarding {
  public:
    TableSwitched(const TableSwitchedRules &rules, ShortestPaths &network, std::uint64_t seed);

    std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t link) override;
    void set_known(std::uint32_t link, bool up) override;
    TableSwitched &switches() override { return *this; }

    // All throw std::invalid_argument, and change nothing, if the node is no switch, or rows are invalid.
    void set_tables(std::uint32_t node, const TableRows &rows) { at(node).set(rows); }
    void set_groups(std::uint32_t node, const TableRows &rows) { at(node).set_groups(rows); }
    void set_port(std::uint32_t node, std::uint32_t port, bool live) { at(node).set_port(port, live); }

    // Gives the flows from number `first` on these slots instead of those by hash; `absent` for that by hash.
    void set_slots(std::uint32_t first, const std::vector<std::uint32_t> &slots);

  private:
    SwitchPipeline &at(std::uint32_t node);

    // Returns the hash by which groups select, the same for both directions of a flow and all switches.
    std::uint32_t slot(std::uint32_t flow) const;

    std::uint32_t header_of(const Packet &packet) const;
    std::uint8_t level_of(std::uint32_t queue) const { return queue < levels_.size() ? levels_[queue] : other_level_; }

    const TableSwitchedRules &rules_;
    const ShortestPaths &network_;
    SwitchEcmp by_shortest_paths_;
    std::uint64_t seed_;
    std::vector<std::uint32_t> in_ports_;  // of all links
    std::vector<std::uint32_t> addresses_; // of all nodes
    std::vector<std::uint8_t> levels_;     // of queues by number
    std::uint8_t other_level_;
    std::vector<SwitchPipeline> pipelines_; // of all nodes
    std::vector<std::uint32_t> slots_;      // of the first flows
    Headers headers_;
};

} // namespace kuijia::packet
