// The simulation's part in path selection: what senders know of their routes, and packets of the selection's own.
#include "routing/path_network.hpp"

#include "simulation.hpp"

#include <algorithm>

namespace kuijia::packet {

const LinkRules &PathNetwork::link(std::uint32_t number) const { return simulation_.scenario_.links[number]; }

std::size_t PathNetwork::links() const { return simulation_.scenario_.links.size(); }

bool PathNetwork::is_host(std::uint32_t node) const { return simulation_.shortest_paths_.is_host(node); }

const std::vector<std::uint32_t> &PathNetwork::route(std::uint32_t number) const {
    return simulation_.scenario_.routes[number];
}

PathNetwork::Ends PathNetwork::ends(std::uint32_t flow) const {
    const auto &of = simulation_.flows_[flow];
    return {of.source, of.target};
}

Choices PathNetwork::choices(std::uint32_t set) {
    const auto &all = simulation_.scenario_.paths[set];
    if (downs_ == 0)
        return {all, set, version_};
    if (set >= alive_.size()) {
        alive_.resize(simulation_.scenario_.paths.size());
        alive_version_.resize(simulation_.scenario_.paths.size(), 0);
    }
    if (alive_version_[set] != version_ + 1)
        find_alive(set);
    return {alive_[set].empty() ? all : alive_[set], set, version_};
}

void PathNetwork::find_alive(std::uint32_t set) {
    alive_version_[set] = version_ + 1;
    alive_[set].clear();
    for (const auto number : simulation_.scenario_.paths[set])
        if (std::ranges::all_of(route(number), [&](auto link) { return known_up(link); }))
            alive_[set].push_back(number);
}

void PathNetwork::set_known(std::uint32_t link, bool up) {
    down_.resize(links(), false);
    if (down_[link] == !up)
        return;
    down_[link] = !up;
    downs_ = up ? downs_ - 1 : downs_ + 1;
    ++version_;
}

void PathNetwork::wake_at(Time time) {
    if (simulation_.path_timer_ == no_timer) {
        simulation_.path_timer_ = static_cast<std::uint32_t>(simulation_.timers_.size());
        simulation_.timers_.push_back({no_flow, Simulation::paths});
    }
    const auto timer = simulation_.path_timer_;
    simulation_.arm(simulation_.timers_[timer].armed, time, simulation_.source_of(timer));
}

bool PathNetwork::can_probe() const { return simulation_.forwarding_ == nullptr; }

std::uint32_t PathNetwork::add_probe_route(const std::vector<std::uint32_t> &links) {
    first_hop_.push_back(simulation_.append_hops(links));
    return static_cast<std::uint32_t>(first_hop_.size() - 1);
}

void PathNetwork::probe(const Probe &probe) {
    const auto id = simulation_.pool_.take();
    auto &packet = simulation_.pool_[id];
    packet.sent = probe.sent;
    packet.hop = first_hop_[probe.route];
    packet.flow = no_flow;
    packet.number = probe.number;
    packet.size = probe.size & 0xffffff;
    packet.kind = Kind::path_probe;
    packet.ecn_capable = true;
    packet.marked = packet.again = false;
    packet.echo = probe.echo;
    packet.backward = probe.answer;
    packet.blocks = 0;
    packet.sacked[0] = {probe.ends.source, probe.ends.target}; // for whom asks where it goes
    set_delay(packet, probe.delay);
    packet.level = probe.level;
    packet.path = probe.path;
    ++simulation_.totals_.made;
    ++simulation_.totals_.probes;
    simulation_.totals_.probe_bytes += probe.size;
    simulation_.trace_.sent(id);
    simulation_.forward(id, simulation_.hops_[packet.hop], no_hop);
}

} // namespace kuijia::packet
