// The network as path selection sees it: routes, what is known of their links, and services of the simulation.
#pragma once

#include "packets.hpp"
#include "routing/path_choice.hpp"
#include "units.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace kuijia::packet {

struct LinkRules;
class Simulation;

class PathNetwork {
  public:
    explicit PathNetwork(Simulation &simulation) : simulation_(simulation) {}

    const LinkRules &link(std::uint32_t number) const;
    std::size_t links() const;
    bool is_host(std::uint32_t node) const;
    const std::vector<std::uint32_t> &route(std::uint32_t number) const; // links in order

    // The nodes between which a flow goes.
    struct Ends {
        std::uint32_t source;
        std::uint32_t target;
    };
    Ends ends(std::uint32_t flow) const;

    // Returns the routes of a set that may be taken.
    Choices choices(std::uint32_t set);

    bool known_up(std::uint32_t link) const { return link >= down_.size() || !down_[link]; }
    void set_known(std::uint32_t link, bool up);

    // Asks for `wake` at this time; an earlier wish that has not been fulfilled stands.
    void wake_at(Time time);

    // Returns true if switches follow the routes of senders: otherwise packets do not go where probes should.
    bool can_probe() const;

    // Adds a route for probes, which no flow takes; returns its number among these.
    std::uint32_t add_probe_route(const std::vector<std::uint32_t> &links);

    // A packet of a path choice's own, ECN-capable. `path`, `number`, `sent` and `echo` are for its use.
    struct Probe {
        std::uint32_t route; // as `add_probe_route` has numbered it
        Ends ends;
        std::uint32_t size;
        std::uint8_t level;
        bool answer; // to another probe
        bool echo;
        std::uint16_t path;
        std::uint32_t number;
        Time sent;
        Time delay = 0; // of the probe that it answers
    };
    void probe(const Probe &probe);

  private:
    void find_alive(std::uint32_t set);

    Simulation &simulation_;
    std::vector<bool> down_; // by link, as far as known
    std::uint32_t downs_ = 0;
    std::uint32_t version_ = 0;                     // of what is known
    std::vector<std::vector<std::uint32_t>> alive_; // routes of each set, where some are dead
    std::vector<std::uint32_t> alive_version_;      // for which they were found, plus one
    std::vector<std::uint32_t> first_hop_;          // of each route for probes
};

} // namespace kuijia::packet
