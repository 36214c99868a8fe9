#include "scenario.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace kuijia::packet {

namespace {

constexpr std::uint64_t most_segments = 0x7fffffff;
constexpr std::uint32_t most_bins = 1 << 16;

void require(bool holds, const char *what, std::size_t which, const char *problem) {
    if (!holds)
        throw std::invalid_argument(std::string(what) + " " + std::to_string(which) + ": " + problem);
}

bool is_time(Time time) { return time >= 0 && time <= longest; }
bool is_rate(std::int64_t rate) { return rate >= slowest && rate <= fastest; }

void validate_queue(const QueueRules &rules, std::size_t which) {
    const auto check = [&](bool holds, const char *problem) { require(holds, "queueing", which, problem); };
    check(rules.limit >= 0 && rules.limit <= largest_queue, "limit must be between 0 and 2^30 bytes");
    check(rules.low >= 0 && rules.low <= largest_queue, "threshold must be between 0 and 2^30 bytes");
    check(rules.cell >= 1 && rules.cell <= largest_packet, "cell must be between 1 and 2^20 bytes");
    check(rules.shaped == 0 || is_rate(rules.shaped), "shaping rate must be between 10 kbit/s and 1 Tbit/s");
    check(rules.shaped == 0 || (rules.burst > 0 && rules.burst <= largest_packet),
          "burst must be between 1 and 2^20 bytes");
    if (rules.marking == Marking::red) {
        check(rules.low < rules.high && rules.high <= largest_queue,
              "RED's high threshold must be above the low one and at most 2^30 bytes");
        check(rules.probability > 0 && rules.probability <= 1, "RED's probability must be above 0 and at most 1");
        check(rules.weight > 0 && rules.weight <= 1, "RED's weight must be above 0 and at most 1");
    }
}

void validate_tcp(const TcpRules &rules, std::size_t which) {
    const auto check = [&](bool holds, const char *problem) { require(holds, "tcp", which, problem); };
    check(rules.payload > 0 && rules.payload <= largest_packet / 2, "payload must be between 1 and 2^19 bytes");
    check(rules.header > 0 && rules.header <= largest_packet / 4, "header must be between 1 and 2^18 bytes");
    check(rules.initial_window >= 1 && rules.initial_window <= 1e6,
          "initial window must be between 1 and 10^6 segments");
    check(rules.receive_window >= 1, "receive window must be at least 1 segment");
    check(rules.counting_limit >= 1 && rules.counting_limit <= 1e6,
          "counting limit must be between 1 and 10^6 segments");
    check(rules.gain > 0 && rules.gain <= 1, "gain must be above 0 and at most 1");
    check(rules.least_marked >= 0 && rules.least_marked <= 1e6, "least window must be between 0 and 10^6 segments");
    check(rules.least_timeout > 0 && rules.least_timeout <= rules.most_timeout && is_time(rules.most_timeout),
          "least timeout must be above 0 and at most the largest one, and that at most 26 days");
    check(rules.first_timeout > 0 && rules.first_timeout <= rules.most_timeout,
          "first timeout must be above 0 and at most the largest one");
    check(rules.card_packets <= 1 << 16, "packets in the card must be at most 2^16");
    check(rules.acknowledge_every >= 1, "segments per acknowledgement must be at least 1");
    check(rules.acknowledge_within > 0 && is_time(rules.acknowledge_within),
          "acknowledgement delay must be above 0 and at most 26 days");
}

} // namespace

void Scenario::validate() const {
    const auto flow_count = flows.size();
    require(links.size() < 1u << 30 && flow_count < 1u << 30, "scenario", seed,
            "links and flows must be fewer than 2^30");
    for (std::size_t which = 0; which < queueings.size(); ++which) {
        const auto &queueing = queueings[which];
        require(!queueing.queues.empty() && queueing.queues.size() == queueing.weights.size(), "queueing", which,
                "there must be as many weights as queues, and at least one");
        const bool by_credits = queueing.classifier == Classifier::credits;
        require(!by_credits || queueing.queues.size() == 2, "queueing", which, "hashed credits need two queues");
        require(!by_credits || queueing.order == Order::strict, "queueing", which, "hashed credits need strict order");
        require(queueing.credits.bins >= 1 && queueing.credits.bins <= most_bins, "queueing", which,
                "bins must be between 1 and 2^16");
        require(queueing.credits.hashed_anew_after > 0, "queueing", which,
                "the time of a hash function must be above 0");
        for (const auto &rules : queueing.queues)
            validate_queue(rules, which);
        for (const auto weight : queueing.weights)
            require(weight > 0, "queueing", which, "weights must be at least 1");
    }
    for (std::size_t which = 0; which < links.size(); ++which) {
        require(is_rate(links[which].bits_per_second), "link", which, "rate must be between 10 kbit/s and 1 Tbit/s");
        require(is_time(links[which].delay), "link", which, "delay must be between 0 and 26 days");
        require(links[which].loss >= 0 && links[which].loss <= 1, "link", which, "loss must be between 0 and 1");
        require(links[which].queueing < queueings.size(), "link", which, "its queueing does not exist");
    }
    for (std::size_t which = 0; which < routes.size(); ++which) {
        require(!routes[which].empty(), "route", which, "it has no links");
        for (const auto link : routes[which])
            require(link < links.size(), "route", which, "it crosses a link that does not exist");
    }
    for (std::size_t which = 0; which < tcp.size(); ++which)
        validate_tcp(tcp[which], which);
    for (std::size_t which = 0; which < lists.size(); ++which) {
        Time last = 0;
        for (const auto &packet : lists[which]) {
            require(packet.time >= last && is_time(packet.time), "list", which,
                    "times must be between 0 and 26 days and must not decrease");
            require(packet.size > 0 && packet.size <= largest_packet, "list", which,
                    "packets must be between 1 and 2^20 bytes");
            last = packet.time;
        }
    }
    for (std::size_t which = 0; which < flow_count; ++which) {
        const auto &flow = flows[which];
        const auto check = [&](bool holds, const char *problem) { require(holds, "flow", which, problem); };
        check(is_time(flow.start), "start must be between 0 and 26 days");
        check(flow.forward < routes.size() && flow.backward < routes.size(), "its route does not exist");
        switch (flow.kind) {
        case FlowKind::tcp:
            check(flow.rules < tcp.size(), "its TCP rules do not exist");
            check(flow.bytes / tcp[flow.rules].payload < most_segments, "it must have fewer than 2^31 segments");
            break;
        case FlowKind::constant_rate:
            check(is_rate(flow.bits_per_second), "rate must be between 10 kbit/s and 1 Tbit/s");
            check(flow.packet > 0 && flow.packet <= largest_packet, "packets must be between 1 and 2^20 bytes");
            check(flow.bytes / flow.packet < most_segments, "it must have fewer than 2^31 packets");
            break;
        case FlowKind::listed:
            check(flow.rules < lists.size(), "its list does not exist");
            break;
        }
    }
    for (std::size_t which = 0; which < link_changes.size(); ++which)
        require(is_time(link_changes[which].time) && link_changes[which].link < links.size(), "link change", which,
                "its time is out of range, or its link does not exist");
    for (std::size_t which = 0; which < route_changes.size(); ++which) {
        const auto &change = route_changes[which];
        require(is_time(change.time) && change.flow < flow_count && change.forward < routes.size() &&
                    change.backward < routes.size(),
                "route change", which, "its time is out of range, or its flow or route does not exist");
    }
    for (std::size_t which = 0; which < probed.size(); ++which)
        require(probed[which] < links.size(), "probe", which, "its link does not exist");
    require(probed_every > 0, "probe", 0, "the time between probes must be above 0");
}

} // namespace kuijia::packet
