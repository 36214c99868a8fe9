#include "faults.hpp"

#include <algorithm>

namespace kuijia::packet {

SwitchFaults::SwitchFaults(const std::vector<RandomDropRules> &drops, const std::vector<BlackHoleRules> &holes,
                           std::uint64_t seed)
    : random_(mixed(seed + 0x6661756c7473)) {
    for (const auto &drop : drops)
        switches_[drop.node].drops.push_back({{drop.begins, drop.ends}, drop.probability});
    for (const auto &hole : holes)
        switches_[hole.node].holes[pair_of(hole.source, hole.target)].push_back({hole.begins, hole.ends});
}

bool SwitchFaults::swallow(std::uint32_t node, std::uint32_t source, std::uint32_t target, Time now) {
    const auto faults = switches_.find(node);
    if (faults == switches_.end())
        return false;
    const auto &[drops, holes] = faults->second;
    const auto hole = holes.find(pair_of(source, target));
    if (hole != holes.end() && std::ranges::any_of(hole->second, [&](const Span &span) { return span.has(now); }))
        return true;
    return std::ranges::any_of(
        drops, [&](const Drop &drop) { return drop.span.has(now) && random_.unit() < drop.probability; });
}

} // namespace kuijia::packet
