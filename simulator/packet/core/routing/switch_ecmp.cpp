#include "routing/switch_ecmp.hpp"

namespace kuijia::packet {

namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

} // namespace

std::unique_ptr<Forwarding> SwitchEcmpRules::forwarding(ShortestPaths &paths, std::uint64_t seed) const {
    return std::make_unique<SwitchEcmp>(paths, seed);
}

std::uint32_t by_hash(std::span<const std::uint32_t> choices, std::uint64_t seed, std::uint32_t flow,
                      std::uint32_t node) {
    return choices[mixed(mixed(seed * golden + flow + golden) + node + golden) % choices.size()];
}

std::uint32_t SwitchEcmp::next(std::uint32_t node, std::uint32_t target, Packet &packet, Time) {
    const auto choices = paths_.choices(node, target);
    if (choices.size() <= 1)
        return choices.empty() ? no_link : choices.front();
    return by_hash(choices, seed_, packet.flow, node);
}

} // namespace kuijia::packet
