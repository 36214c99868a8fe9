#include "queues/round_robin.hpp"

namespace kuijia::packet {

std::unique_ptr<Discipline> RoundRobinRules::discipline(const Site &) const {
    return std::make_unique<RoundRobin>(*this);
}

RoundRobin::RoundRobin(const RoundRobinRules &rules) {
    for (std::size_t queue = 0; queue < rules.queues.size(); ++queue)
        rounds_.add(Buffer(rules.queues[queue]), rules.weights[queue]);
}

} // namespace kuijia::packet
