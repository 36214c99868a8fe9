// Changes during a run: links fail and come back, flows take other routes.
#include "simulation.hpp"

namespace kuijia::packet {

void Simulation::make_changes() {
    for (; changed_ < changes_.size(); ++changed_) {
        const auto &change = changes_[changed_];
        if (change.time > now_)
            return queue_.push(change.time, source_of(own_timers_ + changes));
        if (change.of_link) {
            const auto &link = scenario_.link_changes[change.place];
            if (!link.up)
                fail(link.link);
            ports_[link.link].up = link.up;
        } else {
            const auto &route = scenario_.route_changes[change.place];
            flows_[route.flow].forward = first_hop_[route.forward];
            flows_[route.flow].backward = first_hop_[route.backward];
        }
    }
}

// Loses all packets that wait for the link or are on it.
void Simulation::fail(std::uint32_t link) {
    auto &port = ports_[link];
    const auto lose = [&](PacketId id) {
        ++port.counters.lost_packets;
        ++totals_.lost;
        drop(id);
    };
    if (port.discipline != no_discipline) {
        auto &discipline = *disciplines_[port.discipline];
        for (auto id = discipline.flush(pool_, now_); id != no_packet; id = discipline.flush(pool_, now_)) {
            port.backlog.remove(now_, pool_[id].size);
            lose(id);
        }
    }
    port.settle(pool_, now_);
    while (!port.link.empty()) {
        if (port.link.head == port.first_waiting) {
            port.first_waiting = pool_[port.link.head].next;
            port.backlog.remove(now_, pool_[port.link.head].size);
        }
        lose(port.link.take_first(pool_));
    }
    port.free_at = now_;
}

} // namespace kuijia::packet
