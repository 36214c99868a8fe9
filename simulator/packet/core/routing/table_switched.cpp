#include "routing/table_switched.hpp"

#include <algorithm>
#include <limits>

namespace kuijia::packet {

namespace {

constexpr std::uint64_t between_flows = 0x9e3779b97f4a7c15;
constexpr std::uint32_t one_switch = 1u << header_bits;
constexpr std::uint32_t most_switches = 255; // a packet ends after so many switches: tables may have loops

} // namespace

std::unique_ptr<Forwarding> TableSwitchedRules::forwarding(ShortestPaths &paths, std::uint64_t seed) const {
    return std::make_unique<TableSwitched>(*this, paths, seed);
}

TableSwitched::TableSwitched(const TableSwitchedRules &rules, ShortestPaths &network, std::uint64_t seed)
    : rules_(rules), network_(network), by_shortest_paths_(network, seed), seed_(mixed(seed + 0x736c6f7473)),
      in_ports_(rules.in_ports), addresses_(rules.addresses),
      other_level_(static_cast<std::uint8_t>(rules.other_queue)), pipelines_(network.nodes()) {
    in_ports_.resize(network.links());
    addresses_.resize(network.nodes());
    for (const auto queue : rules.queues)
        if (queue >= levels_.size())
            levels_.resize(queue + 1, other_level_);
    for (std::size_t place = 0; place < rules.queues.size(); ++place)
        levels_[rules.queues[place]] = static_cast<std::uint8_t>(place);
    const auto links = std::min(rules.out_ports.size(), network.links());
    for (std::uint32_t link = 0; link < links; ++link)
        pipelines_[network.source(link)].connect(rules.out_ports[link], link);
}

// The low bits of a packet's `hop` are its header, the bits above them the number of switches that it went through; at
// the first switch they are still the number of its route.
std::uint32_t TableSwitched::next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now,
                                  std::uint32_t link) {
    auto &pipeline = pipelines_[node];
    if (!pipeline.has_tables())
        return network_.is_host(node) ? no_link : by_shortest_paths_.next(node, target, packet, now, link);
    const auto hops = packet.hop >> header_bits;
    if (hops == most_switches)
        return no_link;
    const auto header = hops == 0 ? header_of(packet) : packet.hop & (one_switch - 1);
    const auto left = pipeline.process({in_ports_[link], addresses_[target], header, slot(packet.flow)}, headers_);
    if (left.link == absent)
        return no_link;
    packet.hop = (hops + 1) << header_bits | left.header;
    packet.level = level_of(left.queue);
    return left.link;
}

void TableSwitched::set_known(std::uint32_t link, bool up) {
    if (link < rules_.out_ports.size())
        pipelines_[network_.source(link)].set_port(rules_.out_ports[link], up);
}

void TableSwitched::set_slots(std::uint32_t first, const std::vector<std::uint32_t> &slots) {
    slots_.resize(std::max<std::size_t>(slots_.size(), first + slots.size()), absent);
    std::ranges::copy(slots, slots_.begin() + first);
}

SwitchPipeline &TableSwitched::at(std::uint32_t node) {
    if (node >= network_.nodes() || network_.is_host(node))
        throw std::invalid_argument("tables must be those of a switch");
    return pipelines_[node];
}

std::uint32_t TableSwitched::slot(std::uint32_t flow) const {
    if (flow < slots_.size() && slots_[flow] != absent)
        return slots_[flow];
    return static_cast<std::uint32_t>(mixed(seed_ + between_flows * (std::uint64_t{flow} + 1)) >> 32);
}

// Hosts mark ECN-capable packets with ECT(0), RFC 3168.
std::uint32_t TableSwitched::header_of(const Packet &packet) const {
    const auto &marks = rules_.code_points;
    const auto dscp = marks.empty() ? 0 : marks[std::min<std::size_t>(packet.level, marks.size() - 1)];
    return Headers::of(dscp, packet.ecn_capable ? 2 : 0);
}

} // namespace kuijia::packet
