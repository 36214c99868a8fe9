// Label switching: the sender labels a packet with its path, and each switch has a table from labels to links.
//
// A switch knows only its own table, as in MPLS (RFC 3031): a packet whose label is not in the table ends there. The
// tables have the routes of all flows, and any table may be replaced while packets are on their way.
#pragma once

#include "routing/forwarding.hpp"

namespace kuijia::packet {

struct LabelSwitchedRules {
    static constexpr const char *name = "LabelSwitched";
    static auto fields() { return std::tuple{}; }
    std::unique_ptr<Forwarding> forwarding(ShortestPaths &paths, std::uint64_t seed) const;
};

inline constexpr unsigned label_bits = 24;
inline constexpr unsigned most_hops = 255; // a packet ends after so many switches: tables may have loops

class LabelSwitched final : public Forwarding {
  public:
    explicit LabelSwitched(const ShortestPaths &network) : network_(network), tables_(network.nodes()) {}

    std::uint32_t next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t link) override;
    void add_route(std::uint32_t number, const std::vector<std::uint32_t> &links) override;
    const LabelTable &table(std::uint32_t node) const override;
    void set_table(std::uint32_t node, LabelTable table) override;

  private:
    void require_switch(std::uint32_t node) const;

    const ShortestPaths &network_;
    std::vector<LabelTable> tables_; // of each node
};

} // namespace kuijia::packet
