// Draws networks of several sites, which can be done in parts.
#pragma once

#include "drawing.hpp"
#include "parted_simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace kuijia::packet {

inline bool can_be_parted(const Scenario &scenario) {
    try {
        parted(scenario);
        return true;
    } catch (const std::invalid_argument &) {
        return false;
    }
}

class WanGenerator {
  public:
    explicit WanGenerator(std::uint64_t seed) : random_(seed), own_streams_(below(2) == 0) {}

    std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }

    // Sites of a switch and hosts, and links of 0.1 to 5 ms between all of them.
    Scenario wan() {
        const auto sites = 2 + below(3);
        const auto hosts = 1 + below(3);
        Scenario scenario;
        scenario.seed = random_.next();
        scenario.own_streams = own_streams_;
        scenario.nodes = sites * (1 + hosts);
        scenario.queueings = {drawn_alone<QueueingRules>(), drawn_alone<QueueingRules>(), FifoRules{}};
        const auto connect = [&](std::uint32_t one, std::uint32_t other, std::int64_t rate, Time delay) {
            scenario.links.push_back({rate, delay, 0, below(3), one, other, below(4)});
            scenario.links.push_back({rate, delay, 0, below(3), other, one, below(4)});
        };
        for (std::uint32_t host = sites; host < scenario.nodes; ++host)
            connect(host % sites, host, 100'000'000, below(2) * second / 100'000);
        for (std::uint32_t site = 0; site < sites; ++site)
            for (std::uint32_t other = 0; other < site; ++other)
                connect(site, other, 100'000'000, second / 10'000 * (1 + below(50)));
        for (auto count = 1 + below(3); count-- > 0;)
            scenario.transports.push_back(drawn_alone<TransportRules>());
        for (auto count = 1 + below(12); count-- > 0;)
            add_flow(scenario, sites);
        for (auto count = below(3); count-- > 0;)
            scenario.link_changes.push_back({moment(), below(2 * hosts * sites), below(2) == 0});
        return scenario;
    }

  private:
    Time moment() { return below(1000) * (second / 10'000); }

    // Draws rules that a network can have which is parted, alone at first.
    template <typename Rules> Rules drawn_alone() {
        for (;;) {
            Scenario scenario;
            scenario.own_streams = own_streams_;
            scenario.nodes = 2;
            scenario.queueings = {FifoRules{}};
            scenario.links = {{slowest, second, 0, 0, 0, 1, 0}, {slowest, second, 0, 0, 1, 0, 0}};
            auto rules = drawn<Rules>(random_);
            std::visit([](auto &each) { avoid_storms(each); }, rules);
            if constexpr (std::is_same_v<Rules, QueueingRules>)
                scenario.queueings.front() = rules;
            else
                scenario.transports.push_back(rules);
            if (can_be_parted(scenario))
                return rules;
        }
    }

    // Lets no sender try again thousands of times before an answer can come.
    template <typename Rules> static void avoid_storms(Rules &rules) {
        constexpr Time least = second / 100;
        if constexpr (requires { rules.timeout; })
            rules.timeout = std::max(rules.timeout, least);
        if constexpr (requires { rules.min_timeout; })
            for (auto *timeout : {&rules.first_timeout, &rules.min_timeout, &rules.max_timeout})
                *timeout = std::max(*timeout, least);
    }

    void add_flow(Scenario &scenario, std::uint32_t sites) {
        const auto source = sites + below(scenario.nodes - sites);
        const auto target = sites + below(scenario.nodes - sites);
        if (source == target)
            return;
        const auto path = static_cast<std::uint32_t>(scenario.paths.size());
        add_path(scenario, source, target, sites);
        add_path(scenario, target, source, sites);
        scenario.flows.push_back({static_cast<std::uint8_t>(below(3)), below(scenario.transports.size()), path,
                                  path + 1, moment(), 1 + below(400'000)});
        if (below(4) == 0) {
            add_path(scenario, source, target, sites);
            scenario.route_changes.push_back(
                {moment(), static_cast<std::uint32_t>(scenario.flows.size() - 1), path + 2, path + 1});
        }
    }

    // Adds a path, perhaps by a third site.
    void add_path(Scenario &scenario, std::uint32_t source, std::uint32_t target, std::uint32_t sites) {
        std::vector<std::uint32_t> nodes{source, source % sites};
        for (const auto site : {below(sites), target % sites})
            if (site != nodes.back())
                nodes.push_back(site);
        nodes.push_back(target);
        auto &route = scenario.routes.emplace_back();
        for (std::size_t hop = 1; hop < nodes.size(); ++hop)
            for (std::uint32_t link = 0; link < scenario.links.size(); ++link)
                if (scenario.links[link].source == nodes[hop - 1] && scenario.links[link].target == nodes[hop])
                    route.push_back(link);
        scenario.paths.push_back({static_cast<std::uint32_t>(scenario.routes.size() - 1)});
    }

    Random random_;
    bool own_streams_;
};

} // namespace kuijia::packet
