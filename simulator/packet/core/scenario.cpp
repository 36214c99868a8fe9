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
        throw std::invalid_argument(std::string(what) + " " + std::to_string(which) + " " + problem);
}

bool is_time(Time time) { return time >= 0 && time <= longest; }
bool is_rate(std::int64_t rate) { return rate >= slowest && rate <= fastest; }

void validate_queue(const QueueRules &rules, std::size_t which) {
    const auto check = [&](bool holds, const char *problem) { require(holds, "queueing", which, problem); };
    check(rules.limit >= 0 && rules.limit <= largest_queue, "has a limit that is no number of bytes");
    check(rules.low >= 0 && rules.low <= largest_queue, "has a threshold that is no number of bytes");
    check(rules.cell >= 1 && rules.cell <= largest_packet, "has cells of no possible size");
    check(rules.shaped == 0 || is_rate(rules.shaped), "is shaped to a rate that is not positive");
    check(rules.shaped == 0 || (rules.burst > 0 && rules.burst <= largest_packet), "has a bucket of no possible size");
    if (rules.marking == Marking::red) {
        check(rules.low < rules.high && rules.high <= largest_queue, "has a red whose thresholds do not rise");
        check(rules.probability > 0 && rules.probability <= 1, "has a red that drops with no probability");
        check(rules.weight > 0 && rules.weight <= 1, "has a red whose weight is not in (0, 1]");
    }
}

void validate_tcp(const TcpRules &rules, std::size_t which) {
    const auto check = [&](bool holds, const char *problem) { require(holds, "tcp", which, problem); };
    check(rules.payload > 0 && rules.payload <= largest_packet / 2, "has segments of no possible size");
    check(rules.header > 0 && rules.header <= largest_packet / 4, "has headers of no possible size");
    check(rules.initial_window >= 1 && rules.initial_window <= 1e6, "begins with no possible window");
    check(rules.receive_window >= 1, "receives into no window");
    check(rules.counting_limit >= 1 && rules.counting_limit <= 1e6, "counts bytes to no possible limit");
    check(rules.gain > 0 && rules.gain <= 1, "has a gain that is not in (0, 1]");
    check(rules.least_marked >= 0 && rules.least_marked <= 1e6, "has no possible least window");
    check(rules.least_timeout > 0 && rules.least_timeout <= rules.most_timeout && is_time(rules.most_timeout),
          "has timeouts that are not in order");
    check(rules.first_timeout > 0 && rules.first_timeout <= rules.most_timeout, "has no possible first timeout");
    check(rules.card_packets <= 1 << 16, "lets too much wait in the card");
    check(rules.acknowledge_every >= 1, "never acknowledges");
    check(rules.acknowledge_within > 0 && is_time(rules.acknowledge_within), "acknowledges after no possible time");
}

} // namespace

void Scenario::validate() const {
    const auto flow_count = flows.size();
    require(links.size() < 1u << 30 && flow_count < 1u << 30, "scenario", seed, "is too large");
    for (std::size_t which = 0; which < queueings.size(); ++which) {
        const auto &queueing = queueings[which];
        require(!queueing.queues.empty() && queueing.queues.size() == queueing.weights.size(), "queueing", which,
                "has not as many queues as weights");
        const bool by_credits = queueing.classifier == Classifier::credits;
        require(!by_credits || queueing.queues.size() == 2, "queueing", which, "has credits, and not two queues");
        require(!by_credits || queueing.order == Order::strict, "queueing", which, "has credits, and serves in turn");
        require(queueing.credits.bins >= 1 && queueing.credits.bins <= most_bins, "queueing", which,
                "has no possible number of bins");
        require(queueing.credits.hashed_anew_after > 0, "queueing", which, "hashes anew without pause");
        for (const auto &rules : queueing.queues)
            validate_queue(rules, which);
        for (const auto weight : queueing.weights)
            require(weight > 0, "queueing", which, "has a queue without weight");
    }
    for (std::size_t which = 0; which < links.size(); ++which) {
        require(is_rate(links[which].bits_per_second), "link", which, "has no possible rate");
        require(is_time(links[which].delay), "link", which, "has no possible delay");
        require(links[which].loss >= 0 && links[which].loss <= 1, "link", which, "loses with no possible probability");
        require(links[which].queueing < queueings.size(), "link", which, "has no queueing");
    }
    for (std::size_t which = 0; which < routes.size(); ++which) {
        require(!routes[which].empty(), "route", which, "has no link");
        for (const auto link : routes[which])
            require(link < links.size(), "route", which, "crosses a link that is not there");
    }
    for (std::size_t which = 0; which < tcp.size(); ++which)
        validate_tcp(tcp[which], which);
    for (std::size_t which = 0; which < lists.size(); ++which) {
        Time last = 0;
        for (const auto &packet : lists[which]) {
            require(packet.time >= last && is_time(packet.time), "list", which, "is not in order of time");
            require(packet.size > 0 && packet.size <= largest_packet, "list", which, "has packets of no possible size");
            last = packet.time;
        }
    }
    for (std::size_t which = 0; which < flow_count; ++which) {
        const auto &flow = flows[which];
        const auto check = [&](bool holds, const char *problem) { require(holds, "flow", which, problem); };
        check(is_time(flow.start), "has no possible start");
        check(flow.forward < routes.size() && flow.backward < routes.size(), "has no route");
        switch (flow.kind) {
        case FlowKind::tcp:
            check(flow.rules < tcp.size(), "has no tcp");
            check(flow.bytes / tcp[flow.rules].payload < most_segments, "is too large");
            break;
        case FlowKind::constant_rate:
            check(is_rate(flow.bits_per_second), "has no possible rate");
            check(flow.packet > 0 && flow.packet <= largest_packet, "has packets of no possible size");
            check(flow.bytes / flow.packet < most_segments, "is too large");
            break;
        case FlowKind::listed: check(flow.rules < lists.size(), "has no list"); break;
        }
    }
    for (std::size_t which = 0; which < link_changes.size(); ++which)
        require(is_time(link_changes[which].time) && link_changes[which].link < links.size(), "link change", which,
                "has no possible time or link");
    for (std::size_t which = 0; which < route_changes.size(); ++which) {
        const auto &change = route_changes[which];
        require(is_time(change.time) && change.flow < flow_count && change.forward < routes.size() &&
                    change.backward < routes.size(),
                "route change", which, "has no possible time, flow or route");
    }
    for (std::size_t which = 0; which < probed.size(); ++which)
        require(probed[which] < links.size(), "probe", which, "is at a link that is not there");
    require(probed_every > 0, "probe", 0, "is taken without pause");
}

} // namespace kuijia::packet
