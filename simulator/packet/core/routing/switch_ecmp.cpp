#include "routing/switch_ecmp.hpp"

namespace kuijia::packet {

namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

} // namespace

std::unique_ptr<Forwarding> SwitchEcmpRules::forwarding(ShortestPaths &paths, std::uint64_t seed) const {
    return std::make_unique<SwitchEcmp>(paths, seed);
}

// The hash is that of simulator/packet/routing.py, so that both choose the same paths.
std::uint32_t SwitchEcmp::next(std::uint32_t node, std::uint32_t target, Packet &packet, Time, std::uint32_t) {
    const auto choices = paths_.choices(node, target);
    if (choices.size() <= 1)
        return choices.empty() ? no_link : choices.front();
    return choices[mixed(mixed(seed_ * golden + packet.flow + golden) + node + golden) % choices.size()];
}

} // namespace kuijia::packet
