#include "scenario.hpp"

#include <stdexcept>
#include <string>

namespace kuijia::packet {

namespace {

constexpr std::uint64_t most_packets = 0x7fffffff;

void require(bool holds, const char *what, std::size_t which, const char *problem) {
    if (!holds)
        throw std::invalid_argument(std::string(what) + " " + std::to_string(which) + ": " + problem);
}

template <typename Rows> void require_each(const Rows &rows, const char *what) {
    std::size_t place = 0;
    for (const auto &row : rows)
        require_sound(row, what, place++);
}

} // namespace

void Scenario::validate() const {
    require(nodes < 1u << 30 && links.size() < 1u << 30 && flows.size() < 1u << 30, "scenario", seed,
            "nodes, links and flows must be fewer than 2^30");
    require(routes.size() < most_routes, "scenario", seed, "routes must be fewer than 2^24");
    require_each(queueings, "queueing");
    require_each(links, "link");
    require_each(transports, "transport");
    require_each(link_changes, "link change");
    require_each(known_changes, "known change");
    require_each(route_changes, "route change");
    require_each(random_drops, "random drop");
    require_each(black_holes, "black hole");
    for (std::size_t which = 0; which < links.size(); ++which) {
        require(links[which].queueing < queueings.size(), "link", which, "its queueing does not exist");
        require(links[which].source < nodes && links[which].target < nodes, "link", which, "its node does not exist");
    }
    for (std::size_t which = 0; which < routes.size(); ++which)
        validate_route(routes[which], which);
    for (std::size_t which = 0; which < paths.size(); ++which)
        validate_path(paths[which], which, routes.size());
    for (std::size_t which = 0; which < hosts.size(); ++which)
        require(hosts[which] < nodes, "host", which, "its node does not exist");
    require_sound(forwarding, "forwarding", 0);
    require_sound(choice, "path choice", 0);
    for (std::size_t which = 0; which < flows.size(); ++which)
        validate_flow(flows[which], which);
    for (std::size_t which = 0; which < link_changes.size(); ++which)
        require(link_changes[which].link < links.size(), "link change", which, "its link does not exist");
    for (std::size_t which = 0; which < known_changes.size(); ++which)
        require(known_changes[which].link < links.size(), "known change", which, "its link does not exist");
    for (std::size_t which = 0; which < route_changes.size(); ++which) {
        const auto &change = route_changes[which];
        require(change.flow < flows.size() && change.forward < paths.size() && change.backward < paths.size(),
                "route change", which, "its flow or path does not exist");
    }
    for (std::size_t which = 0; which < random_drops.size(); ++which)
        require(random_drops[which].node < nodes, "random drop", which, "its switch does not exist");
    for (std::size_t which = 0; which < black_holes.size(); ++which) {
        const auto &hole = black_holes[which];
        require(hole.node < nodes && hole.source < nodes && hole.target < nodes, "black hole", which,
                "its switch or host does not exist");
    }
    for (std::size_t which = 0; which < probed.size(); ++which)
        require(probed[which] < links.size(), "probe", which, "its link does not exist");
    require(probed_every > 0, "probe", 0, "the time between probes must be above 0");
}

void Scenario::validate_route(const std::vector<std::uint32_t> &route, std::size_t which) const {
    require(!route.empty(), "route", which, "it has no links");
    for (const auto link : route)
        require(link < links.size(), "route", which, "it crosses a link that does not exist");
}

void Scenario::validate_path(const std::vector<std::uint32_t> &path, std::size_t which, std::size_t known) {
    require(!path.empty(), "path", which, "it has no routes");
    for (const auto route : path)
        require(route < known, "path", which, "its route does not exist");
}

void Scenario::validate_flow(const FlowRules &flow, std::size_t which) const {
    require_sound(flow, "flow", which);
    require(flow.forward < paths.size() && flow.backward < paths.size(), "flow", which, "its path does not exist");
    require(flow.transport < transports.size(), "flow", which, "its transport does not exist");
    const auto packets =
        std::visit([&](const auto &rules) { return rules.packets(flow.bytes); }, transports[flow.transport]);
    require(flow.bytes == 0 || packets < most_packets, "flow", which, "it must have fewer than 2^31 packets");
}

} // namespace kuijia::packet
