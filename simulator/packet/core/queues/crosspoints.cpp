#include "queues/crosspoints.hpp"

namespace kuijia::packet {

std::unique_ptr<Discipline> CrosspointsRules::discipline(const Site &site) const {
    return std::make_unique<Crosspoints>(*this, site.inputs);
}

Crosspoints::Crosspoints(const CrosspointsRules &rules, std::uint32_t inputs) {
    for (std::uint32_t input = 0; input < inputs; ++input)
        rounds_.add(Buffer(rules.queue, rules.held_while_sent), 1);
}

} // namespace kuijia::packet
