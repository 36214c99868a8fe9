// Changes during a run: links fail and come back, flows take other routes.
#include "simulation.hpp"

#include <algorithm>

namespace kuijia::packet {

void Simulation::add_changes() {
    const auto add = [&](const auto &rows, Change::What what) {
        for (std::uint32_t place = 0; place < rows.size(); ++place)
            changes_.push_back({rows[place].time, what, place});
    };
    add(scenario_.link_changes, Change::of_link);
    add(scenario_.known_changes, Change::of_knowledge);
    add(scenario_.route_changes, Change::of_route);
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const auto &one, const auto &other) { return one.time < other.time; });
}

void Simulation::make_changes() {
    for (; changed_ < changes_.size(); ++changed_) {
        const auto &change = changes_[changed_];
        if (change.time > now_)
            return arm(changes, change.time);
        if (change.what == Change::of_link) {
            const auto &link = scenario_.link_changes[change.place];
            if (!link.up)
                fail(link.link);
            ports_[link.link].up = link.up;
        } else if (change.what == Change::of_knowledge) {
            const auto &known = scenario_.known_changes[change.place];
            learn(known.link, known.up);
        } else {
            const auto &route = scenario_.route_changes[change.place];
            take_paths(flows_[route.flow], route.forward, route.backward);
        }
    }
}

// Tells routing that a link has failed or is back.
void Simulation::learn(std::uint32_t link, bool up) {
    shortest_paths_.set_known(link, up);
    path_network_.set_known(link, up);
    if (forwarding_ != nullptr)
        forwarding_->set_known(link, up);
}

// Loses all packets that wait for the link or are on it.
void Simulation::fail(std::uint32_t link) {
    auto &port = ports_[link];
    if (port.has_discipline()) {
        send_waiting(link, now_);
        auto &discipline = *disciplines_[port.discipline];
        for (auto id = discipline.flush(pool_, now_); id != no_packet; id = discipline.flush(pool_, now_)) {
            port.backlog.remove(now_, pool_[id].size);
            lose(id, link);
        }
    }
    port.empty(now_);
    while (!port.link.empty())
        lose(port.link.take_first(pool_), link);
    if (windows_ != nullptr)
        lose_hops(link);
    port.free_at = now_;
}

} // namespace kuijia::packet
