#include "routing/flowlets.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<Forwarding> FlowletsRules::forwarding(ShortestPaths &paths, std::uint64_t seed) const {
    return std::make_unique<Flowlets>(paths, mixed(seed + 0x666c6f776c657473), gap);
}

std::uint32_t Flowlets::next(std::uint32_t node, std::uint32_t target, Packet &packet, Time now, std::uint32_t) {
    const auto choices = paths_.choices(node, target);
    if (choices.size() <= 1)
        return choices.empty() ? no_link : choices.front();
    // Nodes and flows are fewer than 2^30.
    auto &entry = table_[std::uint64_t{node} << 32 | std::uint64_t{packet.flow} << 1 | packet.backward];
    if (entry.link == no_link || now - entry.last > gap_ || !std::ranges::binary_search(choices, entry.link))
        entry.link = choices[random_.below(choices.size())];
    entry.last = now;
    return entry.link;
}

} // namespace kuijia::packet
