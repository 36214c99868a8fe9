// The construction of a simulation from its scenario: ports, routes and flows.
#include "simulation.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace kuijia::packet {

namespace {

Scenario validated(Scenario scenario) {
    scenario.validate();
    return scenario;
}

// Returns the rules of the queue that a port serves by itself; null if it needs a discipline.
const FifoRules *simple_queue(const QueueingRules &queueing, std::uint32_t inputs) {
    const auto *only = std::visit(
        [&](const auto &rules) -> const FifoRules * {
            if constexpr (requires { rules.only(inputs); })
                return rules.only(inputs);
            else
                return nullptr;
        },
        queueing);
    return only != nullptr && only->simple() ? only : nullptr;
}

} // namespace

Simulation::Simulation(Scenario scenario)
    : scenario_(validated(std::move(scenario))), links_(static_cast<std::uint32_t>(scenario_.links.size())),
      queue_draws_(scenario_.seed), link_draws_(mixed(scenario_.seed + 0x6c696e6b73)),
      faults_(scenario_.random_drops, scenario_.black_holes, scenario_.seed), order_(scenario_.seed, links_),
      queue_(scenario_.seed, links_), wide_(links_ > 1024), roles_(links_, 0),
      shortest_paths_(scenario_.nodes, scenario_.links, scenario_.hosts),
      forwarding_(std::visit([&](const auto &rules) { return rules.forwarding(shortest_paths_, scenario_.seed); },
                             scenario_.forwarding)),
      path_choice_(
          std::visit([&](const auto &rules) { return rules.choice(path_network_, scenario_.seed); }, scenario_.choice)),
      listener_(path_choice_ != nullptr && path_choice_->listens() ? path_choice_.get() : nullptr),
      wants_delays_(listener_ != nullptr && listener_->wants_delays()) {
    if (scenario_.own_streams)
        streams_ = ~streams_;
    else
        host_draws_.emplace_back(mixed(scenario_.seed + 0x686f737473));
    add_ports();
    hops_.push_back(no_hop);
    for (const auto &route : scenario_.routes)
        add_hops(route);
    for (std::uint32_t flow = 0; flow < scenario_.flows.size(); ++flow)
        for (unsigned number = 0; number < near_timers; ++number)
            timers_.push_back({flow, number});
    own_timers_ = static_cast<std::uint32_t>(timers_.size());
    for (const auto own : {starts, changes, probes})
        timers_.push_back({no_flow, own});
    for (std::uint32_t flow = 0; flow < scenario_.flows.size(); ++flow)
        add_flow(scenario_.flows[flow], near_timers * flow);
    choose_windows();
    order_by_start();
    add_changes();
    make_changes(); // those at the beginning, before anything else happens
    if (!scenario_.probed.empty() && scenario_.probed_every != never)
        arm(probes, 0);
}

void Simulation::add_ports() {
    std::vector<std::uint32_t> inputs(scenario_.nodes, 0);
    for (const auto &link : scenario_.links)
        ++inputs[link.target];
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::shared_ptr<SharedByPorts>> shared; // by node and queueing
    for (const auto &link : scenario_.links) {
        const auto &queueing = scenario_.queueings[link.queueing];
        const Site site{std::max(1u, inputs[link.source]), scenario_.seed ^ (ports_.size() + 1) << 32,
                        shared[{link.source, link.queueing}]};
        const auto *simple = simple_queue(queueing, site.inputs);
        auto &port = ports_.emplace_back(Rate(link.bits_per_second), link.delay, simple);
        port.input = link.input;
        port.loss = link.loss;
        port.lossy = link.loss > 0 || faults_.any_at(link.source);
        if (simple == nullptr) {
            port.discipline = static_cast<std::uint32_t>(disciplines_.size());
            disciplines_.push_back(std::visit([&](const auto &rules) { return rules.discipline(site); }, queueing));
            turns_.push_back({.late = site.shared == nullptr});
        }
    }
}

// Returns the position of the first hop.
std::uint32_t Simulation::append_hops(const std::vector<std::uint32_t> &route) {
    const auto first = static_cast<std::uint32_t>(hops_.size());
    hops_.insert(hops_.end(), route.begin(), route.end());
    hops_.push_back(no_hop);
    note_roles(route);
    return first;
}

void Simulation::add_hops(const std::vector<std::uint32_t> &route) {
    first_hop_.push_back(append_hops(route));
    if (forwarding_ != nullptr)
        forwarding_->add_route(static_cast<std::uint32_t>(first_hop_.size() - 1), route);
}

// Puts the flows that have not started into the order of their starts, and wakes for the first.
void Simulation::order_by_start() {
    for (auto flow = static_cast<std::uint32_t>(by_start_.size()); flow < flows_.size(); ++flow)
        by_start_.push_back(flow);
    std::stable_sort(by_start_.begin() + static_cast<std::ptrdiff_t>(started_), by_start_.end(),
                     [&](auto one, auto other) { return flows_[one].rules.start < flows_[other].rules.start; });
    if (started_ < by_start_.size())
        arm(starts, flows_[by_start_[started_]].rules.start);
}

void Simulation::add_flow(const FlowRules &rules, std::uint32_t timers) {
    const auto number = static_cast<std::uint32_t>(flows_.size());
    auto &flow = flows_.emplace_back();
    if (scenario_.own_streams)
        host_draws_.emplace_back(mixed(scenario_.seed + 0x666c6f7773) + number);
    flow.rules = rules;
    take_paths(flow, rules.forward, rules.backward);
    flow.timers = timers;
    flow.further_timers = static_cast<std::uint32_t>(timers_.size());
    std::visit(
        [&](const auto &transport) {
            flow.packets = static_cast<std::uint32_t>(transport.packets(rules.bytes));
            flow.datagrams = transport.datagrams;
            for (unsigned timer = near_timers; timer < transport.timers; ++timer)
                timers_.push_back({number, timer});
        },
        scenario_.transports[rules.transport]);
    unfinished_ += flow.packets != endless;
}

void Simulation::take_paths(Flow &flow, std::uint32_t forward, std::uint32_t backward) {
    flow.rules.forward = forward;
    flow.rules.backward = backward;
    const auto &there = scenario_.routes[scenario_.paths[forward].front()];
    flow.source = scenario_.links[there.front()].source;
    flow.target = scenario_.links[there.back()].target;
    flow.forward = first_hop_[scenario_.paths[forward].front()];
    flow.backward = first_hop_[scenario_.paths[backward].front()];
}

} // namespace kuijia::packet
