// Steering of a simulation between two runs: more flows, links that fail and come back, flows that move.
#include "simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace kuijia::packet {

namespace {

void require(bool holds, const std::string &problem) {
    if (!holds)
        throw std::invalid_argument(problem);
}

} // namespace

void Simulation::add_transport(TransportRules rules) {
    require_sound(rules, "transport", scenario_.transports.size());
    scenario_.transports.push_back(std::move(rules));
}

void Simulation::add_paths(const std::vector<std::vector<std::uint32_t>> &routes,
                           const std::vector<std::vector<std::uint32_t>> &paths) {
    for (std::size_t place = 0; place < routes.size(); ++place)
        scenario_.validate_route(routes[place], first_hop_.size() + place);
    for (std::size_t place = 0; place < paths.size(); ++place)
        Scenario::validate_path(paths[place], scenario_.paths.size() + place, first_hop_.size() + routes.size());
    for (const auto &route : routes) {
        scenario_.routes.push_back(route);
        add_hops(route);
    }
    scenario_.paths.insert(scenario_.paths.end(), paths.begin(), paths.end());
}

void Simulation::add_flows(const std::vector<FlowRules> &flows) {
    require(flows.size() < (1u << 30) - flows_.size(), "flows must be fewer than 2^30");
    for (std::size_t place = 0; place < flows.size(); ++place) {
        scenario_.validate_flow(flows[place], flows_.size() + place);
        require(flows[place].start >= now_, "flow " + std::to_string(flows_.size() + place) + ": it starts before now");
    }
    for (const auto &rules : flows) {
        const auto timers = static_cast<std::uint32_t>(timers_.size());
        for (unsigned number = 0; number < near_timers; ++number)
            timers_.push_back({static_cast<std::uint32_t>(flows_.size()), number});
        add_flow(rules, timers);
    }
    order_by_start();
    const bool samples = !scenario_.probed.empty() && scenario_.probed_every != never;
    if (samples && timers_[own_timers_ + probes].armed == never) // there was nothing left to happen
        arm(probes, now_);
}

void Simulation::advance(Time time) {
    require(time <= longest && queue_.next().time() >= time, "something happens before that time");
    now_ = std::max(now_, time);
}

void Simulation::set_link(std::uint32_t link, bool up) {
    require(link < ports_.size(), "link " + std::to_string(link) + " does not exist");
    if (!up)
        fail(link);
    ports_[link].up = up;
}

void Simulation::set_known(std::uint32_t link, bool up) {
    require(link < ports_.size(), "link " + std::to_string(link) + " does not exist");
    shortest_paths_.set_known(link, up);
}

void Simulation::move_flow(std::uint32_t flow, std::uint32_t forward, std::uint32_t backward) {
    require(flow < flows_.size(), "flow " + std::to_string(flow) + " does not exist");
    require(forward < scenario_.paths.size() && backward < scenario_.paths.size(), "the path does not exist");
    take_paths(flows_[flow], forward, backward);
}

} // namespace kuijia::packet
