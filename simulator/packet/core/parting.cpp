#include "parting.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace kuijia::packet {

namespace {

constexpr Time least_delay = second / 10'000; // between parts: threads wait for each other several times in each
constexpr std::size_t most_tried = 64;        // delays, of all that there are
constexpr std::uint32_t most_parts = 8;       // each has a table of all flows and ports

void allow(bool holds, const std::string &problem) {
    if (!holds)
        throw std::invalid_argument("the run cannot be divided among threads: " + problem);
}

// Returns the number of a component for each node, with only the links of less than this delay.
std::vector<std::uint32_t> components(const Scenario &scenario, Time below) {
    std::vector<std::uint32_t> parent(scenario.nodes);
    std::iota(parent.begin(), parent.end(), 0u);
    const auto root = [&](std::uint32_t node) {
        while (parent[node] != node)
            node = parent[node] = parent[parent[node]];
        return node;
    };
    for (const auto &link : scenario.links)
        if (link.delay < below)
            parent[root(link.source)] = root(link.target);
    for (std::uint32_t node = 0; node < scenario.nodes; ++node)
        parent[node] = root(node);
    return parent;
}

// Puts components together until there are few, each into the part with the fewest links. Returns the links of the
// largest part.
std::size_t gather(const Scenario &scenario, std::vector<std::uint32_t> &of_node, std::uint32_t &parts) {
    std::vector<std::size_t> links(scenario.nodes, 0);
    for (const auto &link : scenario.links)
        ++links[of_node[link.source]];
    std::vector<std::uint32_t> by_links;
    for (std::uint32_t node = 0; node < scenario.nodes; ++node)
        if (of_node[node] == node)
            by_links.push_back(node);
    std::ranges::stable_sort(by_links, std::greater{}, [&](auto root) { return links[root]; });
    parts = std::min(most_parts, static_cast<std::uint32_t>(by_links.size()));
    std::vector<std::size_t> load(parts, 0);
    std::vector<std::uint32_t> part(scenario.nodes);
    for (const auto root : by_links) {
        const auto lightest = std::ranges::min_element(load);
        part[root] = static_cast<std::uint32_t>(lightest - load.begin());
        *lightest += links[root];
    }
    for (auto &each : of_node)
        each = part[each];
    return *std::ranges::max_element(load);
}

// Calls `function` with each queue in rules.
template <typename Rules, typename Function> void for_each_queue(const Rules &rules, const Function &function) {
    if constexpr (std::is_same_v<Rules, FifoRules>)
        function(rules);
    else if constexpr (HasFields<Rules>)
        for_each_field<Rules>([&](const auto &field) { for_each_queue(rules.*field.member, function); });
    else if constexpr (IsVector<Rules>::value)
        for (const auto &one : rules)
            for_each_queue(one, function);
    else if constexpr (IsOptional<Rules>::value) {
        if (rules)
            for_each_queue(*rules, function);
    } else if constexpr (IsVariant<Rules>::value)
        std::visit([&](const auto &one) { for_each_queue(one, function); }, rules);
}

void allow_no_shared_state(const Scenario &scenario) {
    allow(std::holds_alternative<SourceRoutedRules>(scenario.forwarding) &&
              std::holds_alternative<FixedPathRules>(scenario.choice),
          "a load balancer has state that parts share");
    allow(scenario.random_drops.empty() &&
              std::ranges::all_of(scenario.links, [](const auto &link) { return link.loss == 0; }),
          "lossy links and switches draw from one stream of random numbers");
    allow(scenario.probed.empty(), "queues cannot be sampled");
    for (const auto &queueing : scenario.queueings)
        for_each_queue(queueing, [](const FifoRules &queue) {
            allow(!std::holds_alternative<RedRules>(queue.marking) && !queue.random_drop && !queue.random_mark,
                  "queues that drop or mark at random draw from one stream of random numbers");
        });
    for (const auto &transport : scenario.transports)
        std::visit(
            [&](const auto &rules) {
                if constexpr (requires { rules.shared_by_ends; })
                    allow(!rules.shared_by_ends, "the ends of the transport have state in common");
                if constexpr (requires { rules.draws(); })
                    allow(scenario.own_streams || !rules.draws(),
                          "the transport draws from one stream of random numbers, unless flows have their own");
            },
            transport);
}

void allow_no_gaps(const Scenario &scenario, const Parting &parting) {
    const auto from = [&](std::uint32_t link) { return parting.of_node[scenario.links[link].source]; };
    const auto to = [&](std::uint32_t link) { return parting.of_node[scenario.links[link].target]; };
    for (const auto &route : scenario.routes)
        for (std::size_t hop = 1; hop < route.size(); ++hop)
            allow(to(route[hop - 1]) == from(route[hop]), "a route has a gap");
    for (const auto &change : scenario.link_changes)
        allow(from(change.link) == to(change.link), "a link between parts of the network fails");
    const auto first = [&](std::uint32_t path) { return from(scenario.routes[scenario.paths[path][0]].front()); };
    const auto last = [&](std::uint32_t path) { return to(scenario.routes[scenario.paths[path][0]].back()); };
    const auto allow_ends = [&](const FlowRules &flow, std::uint32_t forward, std::uint32_t backward) {
        allow(first(forward) == first(flow.forward) && last(forward) == last(flow.forward) &&
                  first(backward) == last(forward) && last(backward) == first(forward),
              "the ways there and back of a flow have different ends");
    };
    for (const auto &flow : scenario.flows)
        allow_ends(flow, flow.forward, flow.backward);
    for (const auto &change : scenario.route_changes)
        allow_ends(scenario.flows[change.flow], change.forward, change.backward);
}

} // namespace

Parting parted(const Scenario &scenario) {
    allow_no_shared_state(scenario);
    std::set<Time, std::greater<>> delays;
    for (const auto &link : scenario.links)
        if (link.delay >= least_delay)
            delays.insert(link.delay);
    Parting best{};
    auto least = scenario.links.size();
    std::size_t place = 0;
    for (const auto delay : delays) {
        if (place++ % (1 + delays.size() / most_tried) != 0)
            continue;
        Parting tried{components(scenario, delay), 0, {}, delay};
        const auto largest = gather(scenario, tried.of_node, tried.parts);
        if (largest < least) {
            least = largest;
            best = std::move(tried);
        }
        if (2 * least <= scenario.links.size())
            break;
    }
    allow(best.parts > 1, "links of less than 0.1 ms join all nodes that send");
    best.delays.assign(best.parts, std::vector<Time>(best.parts, never));
    for (const auto &link : scenario.links) {
        const auto from = best.of_node[link.source];
        const auto to = best.of_node[link.target];
        if (from != to)
            best.delays[from][to] = std::min(best.delays[from][to], link.delay);
    }
    allow_no_gaps(scenario, best);
    return best;
}

} // namespace kuijia::packet
