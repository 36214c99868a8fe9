// Paths between racks: routes that differ in their first and last link only, those of the hosts, are one path.
#pragma once

#include "routing/path_network.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace kuijia::packet {

class RackPaths {
  public:
    explicit RackPaths(const PathNetwork &network) : network_(network) {}

    struct Place {
        std::uint32_t pair;
        std::uint16_t path; // number among those of the pair, from 0

        bool operator==(const Place &) const = default;
    };

    // From one rack, named by its switch, to another.
    struct Pair {
        std::uint32_t source;
        std::uint32_t target;
        std::vector<std::vector<std::uint32_t>> paths; // links between the switches
    };

    // Returns the place of a route; what has not been seen before gets the next numbers.
    Place of(std::uint32_t route) {
        if (route < places_.size() && places_[route].path != no_path)
            return places_[route];
        return learn(route);
    }

    const Pair &pair(std::uint32_t number) const { return pairs_[number]; }
    std::uint32_t pairs() const { return static_cast<std::uint32_t>(pairs_.size()); }

    // Returns the number of the pair in the other direction, or `pairs()` if no route has it.
    std::uint32_t reverse(std::uint32_t pair) const;

    // Returns the links of a route without those of hosts.
    static std::span<const std::uint32_t> inner(const std::vector<std::uint32_t> &route) {
        return route.size() < 3 ? std::span<const std::uint32_t>{} : std::span(route).subspan(1, route.size() - 2);
    }

  private:
    Place learn(std::uint32_t route);

    const PathNetwork &network_;
    std::vector<Place> places_; // of each route
    std::vector<Pair> pairs_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_; // of pairs, by switches
};

} // namespace kuijia::packet
