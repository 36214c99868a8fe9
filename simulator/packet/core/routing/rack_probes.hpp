// Probes between racks: one host of each rack, its agent, sends them and answers those of others.
#pragma once

#include "routing/path_network.hpp"
#include "routing/rack_paths.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

class RackProbes {
  public:
    RackProbes(PathNetwork &network, const RackPaths &racks) : network_(network), racks_(racks) {}

    // Returns true if a probe can be sent on a path, and answered: there are hosts at both ends, and no link is known
    // to be down.
    bool can_ask(std::uint32_t pair, std::uint16_t path);

    struct Form {
        std::uint32_t size;
        std::uint8_t level;
    };
    void ask(std::uint32_t pair, std::uint16_t path, Form form, Time now);

    // Answers a probe that has come, in the level that is served first, on a path back that is not known to be dead.
    void answer(const Packet &probe, Time now);

  private:
    static constexpr std::uint32_t no_route = 0xffffffff;

    // A host of a rack and its links there and back.
    struct Agent {
        std::uint32_t host;
        std::uint32_t up;
        std::uint32_t down = no_route;
    };

    void find_agents();
    const Agent *agent(std::uint32_t rack);
    std::uint32_t route(std::uint32_t pair, std::uint16_t path);
    bool is_alive(std::uint32_t pair, std::uint16_t path) const;
    bool can_send(std::uint32_t pair, std::uint16_t path);
    std::uint32_t way_back(std::uint32_t pair, std::uint16_t path, std::uint16_t &back);

    PathNetwork &network_;
    const RackPaths &racks_;
    bool has_agents_ = false;
    std::unordered_map<std::uint32_t, Agent> agents_; // by rack
    std::vector<std::vector<std::uint32_t>> routes_;  // of each pair and path
};

} // namespace kuijia::packet
