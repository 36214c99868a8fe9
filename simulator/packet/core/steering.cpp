// Steering of a simulation between two runs: more flows, links that fail and come back, flows that move.
#include "simulation.hpp"

#include <algorithm>
#include <iterator>
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
                           const std::vector<std::vector<std::uint32_t>> &sets) {
    require(routes.size() < most_routes - first_hop_.size(), "routes must be fewer than 2^24");
    for (std::size_t place = 0; place < routes.size(); ++place)
        scenario_.validate_route(routes[place], first_hop_.size() + place);
    for (std::size_t place = 0; place < sets.size(); ++place)
        Scenario::validate_path(sets[place], scenario_.paths.size() + place, first_hop_.size() + routes.size());
    for (const auto &route : routes) {
        scenario_.routes.push_back(route);
        add_hops(route);
    }
    scenario_.paths.insert(scenario_.paths.end(), sets.begin(), sets.end());
}

// Makes room for more flows. If there are views of the records, the old memory stays, without the transports.
void Simulation::make_room(std::size_t flows) {
    if (flows <= flows_.capacity())
        return;
    std::vector<Flow> larger;
    larger.reserve(std::max(flows, 2 * flows_.capacity()));
    std::move(flows_.begin(), flows_.end(), std::back_inserter(larger));
    flows_.swap(larger);
    if (viewed_)
        viewed_before_.push_back(std::move(larger));
    viewed_ = false;
}

void Simulation::add_flows(const std::vector<FlowRules> &flows) {
    require(flows.size() < (1u << 30) - flows_.size(), "flows must be fewer than 2^30");
    for (std::size_t place = 0; place < flows.size(); ++place) {
        scenario_.validate_flow(flows[place], flows_.size() + place);
        require(flows[place].start >= now_, "flow " + std::to_string(flows_.size() + place) + ": it starts before now");
    }
    make_room(flows_.size() + flows.size());
    for (const auto &rules : flows) {
        const auto timers = static_cast<std::uint32_t>(timers_.size());
        for (unsigned number = 0; number < near_timers; ++number)
            timers_.push_back({static_cast<std::uint32_t>(flows_.size()), number});
        add_flow(rules, timers);
    }
    order_by_start();
    const bool samples = !scenario_.probed.empty() && scenario_.probed_every != never;
    if (samples && timers_[own_timers_ + probes].armed == never) // sampling ended with the last event
        arm(probes, now_);
}

void Simulation::advance(Time time) {
    require(time <= longest && next_time() >= time, "something happens before that time");
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
    learn(link, up);
}

const LabelTable &Simulation::label_table(std::uint32_t node) const {
    require(forwarding_ != nullptr, Forwarding::no_tables);
    return forwarding_->table(node);
}

void Simulation::set_label_table(std::uint32_t node, LabelTable table) {
    require(forwarding_ != nullptr, Forwarding::no_tables);
    forwarding_->set_table(node, std::move(table));
}

TableSwitched &Simulation::switches() {
    require(forwarding_ != nullptr, "the switches have no flow tables");
    return forwarding_->switches();
}

void Simulation::move_flow(std::uint32_t flow, std::uint32_t forward, std::uint32_t backward) {
    require(flow < flows_.size(), "flow " + std::to_string(flow) + " does not exist");
    require(forward < scenario_.paths.size() && backward < scenario_.paths.size(), "the path does not exist");
    take_paths(flows_[flow], forward, backward);
}

} // namespace kuijia::packet
