// A simulation that stands in for the core's own: a host and a network that only note what a part asks them for.
#pragma once

#include "queues/hashed_credits.hpp"
#include "queues/strict_priority.hpp"
#include "routing/hermes.hpp"
#include "scenario.hpp"
#include "transports/expresspass.hpp"

namespace kuijia::packet {

class Simulation {
  public:
    explicit Simulation(std::uint64_t seed) : random(seed) {}

    Random random;
    PacketPool pool;
    std::vector<Packet> sent;
    std::array<Time, 2> wakes{never, never}; // of each timer
    std::array<bool, 2> asked{};             // for a wake of each timer, in this step
    std::uint32_t timeouts = 0;
    std::uint32_t completed = 0;
    std::uint32_t finished = 0;
    Time card_free_at = 0;
    std::vector<LinkRules> links;
    std::vector<std::vector<std::uint32_t>> routes;
    std::vector<PathNetwork::Ends> ends; // of each flow
    std::vector<Choices> choices;        // of each flow
    std::vector<std::vector<std::uint32_t>> probe_routes;
    std::vector<PathNetwork::Probe> probes;
    std::uint32_t hosts = 0; // nodes below this number
};

Random &Host::random() { return simulation_.random; }

Host::Outgoing Host::make(Way way, Kind kind, std::uint32_t size, std::uint32_t number, bool again) {
    const auto id = simulation_.pool.take();
    auto &packet = simulation_.pool[id];
    packet = {};
    packet.sent = now_;
    packet.number = number;
    packet.size = size & 0xffffff;
    packet.kind = kind;
    packet.backward = way == Way::backward;
    packet.again = again;
    packet.level = 7; // the flow's
    return {id, packet};
}

void Host::send(PacketId id) {
    const auto &packet = simulation_.pool[id];
    simulation_.sent.push_back(packet);
    if (!packet.backward)
        simulation_.card_free_at =
            std::max(simulation_.card_free_at, now_) + Rate(card_rate(Way::forward)).of(packet.size);
    simulation_.pool.give_back(id);
}

void Host::wake_at(unsigned timer, Time time) {
    auto &wake = simulation_.wakes[timer];
    wake = std::exchange(simulation_.asked[timer], true) ? std::min(wake, time) : time;
}
Time Host::card_free_at() const { return simulation_.card_free_at; }
std::int64_t Host::card_rate(Way) const { return simulation_.links.front().bits_per_second; }
void Host::timed_out() { ++simulation_.timeouts; }
void Host::complete() { ++simulation_.completed; }
void Host::finish(bool) { ++simulation_.finished; }

const LinkRules &PathNetwork::link(std::uint32_t number) const { return simulation_.links[number]; }
std::size_t PathNetwork::links() const { return simulation_.links.size(); }
bool PathNetwork::is_host(std::uint32_t node) const { return node < simulation_.hosts; }
const std::vector<std::uint32_t> &PathNetwork::route(std::uint32_t number) const { return simulation_.routes[number]; }
PathNetwork::Ends PathNetwork::ends(std::uint32_t flow) const { return simulation_.ends[flow]; }
void PathNetwork::wake_at(Time time) { simulation_.wakes[0] = time; }
bool PathNetwork::can_probe() const { return true; }
std::uint32_t PathNetwork::add_probe_route(const std::vector<std::uint32_t> &links) {
    simulation_.probe_routes.push_back(links);
    return static_cast<std::uint32_t>(simulation_.probe_routes.size() - 1);
}
void PathNetwork::probe(const Probe &probe) { simulation_.probes.push_back(probe); }

} // namespace kuijia::packet
