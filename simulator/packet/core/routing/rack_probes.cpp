#include "routing/rack_probes.hpp"

#include "scenario.hpp"

#include <algorithm>

namespace kuijia::packet {

void RackProbes::find_agents() {
    has_agents_ = true;
    const auto links = static_cast<std::uint32_t>(network_.links());
    for (std::uint32_t link = 0; link < links; ++link)
        if (const auto &of = network_.link(link); network_.is_host(of.source) && !network_.is_host(of.target))
            agents_.try_emplace(of.target, Agent{of.source, link});
    for (std::uint32_t link = 0; link < links; ++link) {
        const auto &of = network_.link(link);
        const auto found = agents_.find(of.source);
        if (found != agents_.end() && found->second.host == of.target && found->second.down == no_route)
            found->second.down = link;
    }
}

const RackProbes::Agent *RackProbes::agent(std::uint32_t rack) {
    if (!has_agents_)
        find_agents();
    const auto found = agents_.find(rack);
    return found == agents_.end() || found->second.down == no_route ? nullptr : &found->second;
}

std::uint32_t RackProbes::route(std::uint32_t pair, std::uint16_t path) {
    if (pair >= routes_.size())
        routes_.resize(racks_.pairs());
    auto &routes = routes_[pair];
    if (path >= routes.size())
        routes.resize(racks_.pair(pair).paths.size(), no_route);
    if (routes[path] == no_route) {
        const auto &ends = racks_.pair(pair);
        std::vector<std::uint32_t> links{agent(ends.source)->up};
        links.insert(links.end(), ends.paths[path].begin(), ends.paths[path].end());
        links.push_back(agent(ends.target)->down);
        routes[path] = network_.add_probe_route(links);
    }
    return routes[path];
}

bool RackProbes::is_alive(std::uint32_t pair, std::uint16_t path) const {
    return std::ranges::all_of(racks_.pair(pair).paths[path], [&](auto link) { return network_.known_up(link); });
}

// A path without links stays in a rack: there is nothing to find out.
bool RackProbes::can_send(std::uint32_t pair, std::uint16_t path) {
    const auto &ends = racks_.pair(pair);
    const auto *from = agent(ends.source);
    const auto *to = agent(ends.target);
    return !ends.paths[path].empty() && from != nullptr && to != nullptr && network_.known_up(from->up) &&
           network_.known_up(to->down) && is_alive(pair, path);
}

// Returns the pair in the other direction, `racks_.pairs()` if there is no path back, and the path: the one with the
// same number, or the next alive.
std::uint32_t RackProbes::way_back(std::uint32_t pair, std::uint16_t path, std::uint16_t &back) {
    const auto other = racks_.reverse(pair);
    if (other == racks_.pairs())
        return other;
    const auto count = racks_.pair(other).paths.size();
    for (std::size_t step = 0; step < count; ++step) {
        back = static_cast<std::uint16_t>((path + step) % count);
        if (can_send(other, back))
            return other;
    }
    return racks_.pairs();
}

bool RackProbes::can_ask(std::uint32_t pair, std::uint16_t path) {
    std::uint16_t back = 0;
    return network_.can_probe() && can_send(pair, path) && way_back(pair, path, back) != racks_.pairs();
}

void RackProbes::ask(std::uint32_t pair, std::uint16_t path, Form form, Time now) {
    const auto &ends = racks_.pair(pair);
    network_.probe({route(pair, path),
                    {agent(ends.source)->host, agent(ends.target)->host},
                    form.size,
                    form.level,
                    false,
                    false,
                    path,
                    pair,
                    now});
}

void RackProbes::answer(const Packet &probe, Time now) {
    std::uint16_t back = 0;
    const auto pair = way_back(probe.number, probe.path, back);
    if (pair == racks_.pairs())
        return;
    network_.probe({route(pair, back),
                    {probe.sacked[0].end, probe.sacked[0].begin},
                    probe.size,
                    0,
                    true,
                    probe.marked,
                    probe.path,
                    probe.number,
                    probe.sent,
                    now - probe.sent});
}

} // namespace kuijia::packet
