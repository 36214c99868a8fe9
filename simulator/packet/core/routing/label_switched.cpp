#include "routing/label_switched.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t one_hop = 1u << label_bits;

void require(bool holds, const char *problem) {
    if (!holds)
        throw std::invalid_argument(problem);
}

} // namespace

std::unique_ptr<Forwarding> LabelSwitchedRules::forwarding(ShortestPaths &paths, std::uint64_t) const {
    return std::make_unique<LabelSwitched>(paths);
}

// The low bits of a packet's `hop` are its label, the bits above them the number of switches that it went through.
std::uint32_t LabelSwitched::next(std::uint32_t node, std::uint32_t, Packet &packet, Time, std::uint32_t) {
    if (packet.hop >> label_bits == most_hops)
        return no_link;
    const auto label = packet.hop & (one_hop - 1);
    packet.hop += one_hop;
    const auto &[labels, links] = tables_[node];
    const auto found = std::lower_bound(labels.begin(), labels.end(), label);
    return found == labels.end() || *found != label ? no_link : links[static_cast<std::size_t>(found - labels.begin())];
}

void LabelSwitched::add_route(std::uint32_t number, const std::vector<std::uint32_t> &route) {
    for (const auto link : route) {
        const auto node = network_.source(link);
        if (network_.is_host(node))
            continue;
        auto &[labels, links] = tables_[node];
        const auto place = std::lower_bound(labels.begin(), labels.end(), number) - labels.begin();
        if (labels.begin() + place != labels.end() && labels[static_cast<std::size_t>(place)] == number) {
            links[static_cast<std::size_t>(place)] = link; // a route that comes back to a switch skips the loop
            continue;
        }
        labels.insert(labels.begin() + place, number);
        links.insert(links.begin() + place, link);
    }
}

const LabelTable &LabelSwitched::table(std::uint32_t node) const {
    require_switch(node);
    return tables_[node];
}

void LabelSwitched::set_table(std::uint32_t node, LabelTable table) {
    require_switch(node);
    require(table.labels.size() == table.links.size(), "a label table must have one link for each label");
    require(std::is_sorted(table.labels.begin(), table.labels.end(), std::less_equal()), "labels must rise");
    require(table.labels.empty() || table.labels.back() < one_hop, "labels must be below 2^24");
    for (const auto link : table.links)
        require(link < network_.links() && network_.source(link) == node, "the link of a label must leave the switch");
    tables_[node] = std::move(table);
}

void LabelSwitched::require_switch(std::uint32_t node) const {
    require(node < network_.nodes() && !network_.is_host(node), "a label table must be that of a switch");
}

} // namespace kuijia::packet
