#include "routing/clove_ecn.hpp"

#include <algorithm>

namespace kuijia::packet {

std::unique_ptr<PathChoice> CloveEcnRules::choice(PathNetwork &network, std::uint64_t seed) const {
    return std::make_unique<CloveEcn>(*this, network, mixed(seed + 0x636c6f7665));
}

void PathWeights::marked(std::size_t path, Time now, const CloveEcnRules &rules) {
    auto &of = weights_[path];
    if (weights_.size() < 2 || now - of.reduced < rules.pause)
        return;
    of.reduced = now;
    const auto part = of.value * (1 - rules.kept) / static_cast<double>(weights_.size() - 1);
    of.value *= rules.kept;
    for (std::size_t other = 0; other < weights_.size(); ++other)
        if (other != path)
            weights_[other].value += part;
}

std::uint32_t CloveEcn::choose(Packet &packet, const Choices &choices) {
    if (packet.backward && rules_.hashed_answers)
        return hashed_place(seed_, packet.flow, choices);
    const auto now = packet.sent;
    const auto number = 2 * std::size_t{packet.flow} + packet.backward;
    if (number >= flowlets_.size())
        flowlets_.resize(number + 1);
    auto &flowlet = flowlets_[number];
    const bool same = flowlet.set == choices.set && flowlet.version == choices.version;
    if (!flowlet.begun || now - flowlet.last > rules_.gap || (!same && !follow(flowlet, choices)))
        begin(flowlet, packet, choices);
    flowlet.last = now;
    if (!packet.backward)
        packet.path = flowlet.path;
    return flowlet.place;
}

// The routes have changed. Returns true if that of the flowlet is still among them, and notes its place.
bool CloveEcn::follow(Flowlet &flowlet, const Choices &choices) {
    const auto found = std::ranges::find(choices.routes, flowlet.route);
    if (found == choices.routes.end())
        return false;
    flowlet.set = choices.set;
    flowlet.version = choices.version;
    flowlet.place = static_cast<std::uint32_t>(found - choices.routes.begin());
    return true;
}

void CloveEcn::begin(Flowlet &flowlet, const Packet &packet, const Choices &choices) {
    const auto ends = network_.ends(packet.flow);
    flowlet.weights = weights_of(packet.backward ? ends.target : ends.source, racks_.of(choices.routes.front()).pair);
    auto &weights = weights_[flowlet.weights];
    double sum = 0;
    for (const auto route : choices.routes) {
        const auto path = racks_.of(route).path;
        weights.resize(path + std::size_t{1});
        sum += weights[path];
    }
    auto rest = random_.unit() * sum;
    std::uint32_t place = 0;
    for (; place + 1 < choices.count(); ++place) {
        rest -= weights[racks_.of(choices.routes[place]).path];
        if (rest < 0)
            break;
    }
    const auto route = choices.routes[place];
    counters_.moves += !packet.backward && flowlet.begun && route != flowlet.route;
    const auto path = racks_.of(route).path;
    flowlet = {true, packet.sent, place, choices.set, choices.version, route, path, flowlet.weights};
}

std::uint32_t CloveEcn::weights_of(std::uint32_t host, std::uint32_t pair) {
    const auto next = static_cast<std::uint32_t>(weights_.size());
    const auto [known, is_new] = numbers_.try_emplace(std::uint64_t{host} << 32 | pair, next);
    if (is_new)
        weights_.emplace_back();
    return known->second;
}

void CloveEcn::acknowledged(const Packet &packet, Time now) {
    const auto number = 2 * std::size_t{packet.flow};
    if (!packet.echo || number >= flowlets_.size() || !flowlets_[number].begun)
        return;
    if (auto &weights = weights_[flowlets_[number].weights]; packet.path < weights.size())
        weights.marked(packet.path, now, rules_);
}

} // namespace kuijia::packet
