#include "estimation.hpp"

#include "routes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kuijia::hedera {

namespace {

struct Flow {
    double demand;
    std::int32_t source, target;
    bool converged;
    bool limited; // by its receiver
};

// The numbers of flows by one of their ends.
struct Grouped {
    std::vector<std::int32_t> first;
    std::vector<std::int32_t> flows;

    std::span<const std::int32_t> of(std::int32_t host) const {
        return std::span(flows).subspan(at(first[at(host)]), at(first[at(host) + 1] - first[at(host)]));
    }
};

Grouped grouped(std::int32_t hosts, std::span<const std::int32_t> ends) {
    Grouped by{std::vector<std::int32_t>(at(hosts) + 2), std::vector<std::int32_t>(ends.size())};
    for (const auto host : ends)
        ++by.first[at(host) + 2];
    for (std::size_t host = 2; host < by.first.size(); ++host)
        by.first[host] += by.first[host - 1];
    for (std::size_t flow = 0; flow < ends.size(); ++flow)
        by.flows[at(by.first[at(ends[flow]) + 1]++)] = static_cast<std::int32_t>(flow);
    by.first.pop_back();
    return by;
}

// Hosts whose flows have changed since they were looked at, each once.
class Agenda {
  public:
    explicit Agenda(std::int32_t hosts) : waiting_(at(hosts)) {}

    void add(std::int32_t host) {
        if (!waiting_[at(host)]) {
            waiting_[at(host)] = 1;
            hosts_.push_back(host);
        }
    }

    std::vector<std::int32_t> take() {
        for (const auto host : hosts_)
            waiting_[at(host)] = 0;
        return std::exchange(hosts_, {});
    }

  private:
    std::vector<std::int32_t> hosts_;
    std::vector<std::uint8_t> waiting_;
};

class Estimation {
  public:
    Estimation(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target)
        : incoming_(), outgoing_(grouped(hosts, source)), senders_(hosts), receivers_(hosts) {
        // Flows stand in the order of their senders, whose turn is then a walk through memory.
        flows_.reserve(source.size());
        std::vector<std::int32_t> target_in_order(source.size());
        for (std::size_t place = 0; place < source.size(); ++place) {
            const auto flow = at(outgoing_.flows[place]);
            flows_.push_back({0, source[flow], target[flow], false, false});
            target_in_order[place] = target[flow];
        }
        incoming_ = grouped(hosts, target_in_order);
        for (std::int32_t host = 0; host < hosts; ++host)
            if (outgoing_.first[at(host)] != outgoing_.first[at(host) + 1])
                senders_.add(host);
    }

    // Whether anything has changed. Only hosts that have seen a change can change something.
    bool round() {
        changed_ = false;
        for (const auto host : senders_.take())
            send(host);
        for (const auto host : receivers_.take())
            receive(host);
        return changed_;
    }

    std::vector<double> demands() const {
        std::vector<double> demand(flows_.size());
        for (std::size_t place = 0; place < flows_.size(); ++place)
            demand[at(outgoing_.flows[place])] = flows_[place].demand;
        return demand;
    }

  private:
    void set(Flow &flow, double demand) {
        if (std::abs(flow.demand - demand) > same) {
            changed_ = true;
            receivers_.add(flow.target);
            flow.demand = demand;
        }
    }

    void send(std::int32_t host) {
        const auto begin = at(outgoing_.first[at(host)]), end = at(outgoing_.first[at(host) + 1]);
        double free = 1;
        std::int32_t rising = 0;
        for (auto place = begin; place < end; ++place)
            if (flows_[place].converged)
                free -= flows_[place].demand;
            else
                ++rising;
        if (rising == 0)
            return;
        const double share = std::max(0.0, free) / rising;
        for (auto place = begin; place < end; ++place)
            if (!flows_[place].converged)
                set(flows_[place], share);
    }

    void receive(std::int32_t host) {
        const auto places = incoming_.of(host);
        double total = 0;
        for (const auto place : places)
            total += flows_[at(place)].demand;
        if (total <= 1 + same)
            return;
        for (const auto place : places)
            flows_[at(place)].limited = true;
        double taken = 0, share = 1.0 / static_cast<double>(places.size());
        for (bool found = true; found;) {
            found = false;
            std::int32_t left = 0;
            for (const auto place : places) {
                auto &flow = flows_[at(place)];
                if (!flow.limited)
                    continue;
                if (flow.demand < share - same) {
                    taken += flow.demand;
                    flow.limited = false;
                    found = true;
                } else {
                    ++left;
                }
            }
            share = (1 - taken) / left; // the flows together exceed the interface, so that one is left
        }
        for (const auto place : places) {
            auto &flow = flows_[at(place)];
            if (!flow.limited)
                continue;
            if (!flow.converged || std::abs(flow.demand - share) > same) {
                flow.converged = true;
                changed_ = true;
                senders_.add(flow.source);
            }
            flow.demand = share;
        }
    }

    std::vector<Flow> flows_;
    Grouped incoming_, outgoing_;
    Agenda senders_, receivers_;
    bool changed_ = false;
};

} // namespace

Estimate estimate(std::int32_t hosts, std::span<const std::int32_t> source, std::span<const std::int32_t> target,
                  std::int32_t most_rounds) {
    if (hosts < 0)
        throw std::invalid_argument("hosts: expected how many there are");
    if (source.size() != target.size())
        throw std::invalid_argument("target: expected as many as sources");
    if (source.size() > 0x7fffffff)
        throw std::invalid_argument("source: expected fewer than 2^31 flows");
    require_below("source", source, at(hosts));
    require_below("target", target, at(hosts));
    Estimation estimation(hosts, source, target);
    Estimate found;
    do
        ++found.rounds;
    while (!(found.settled = !estimation.round()) && found.rounds < most_rounds);
    found.demand = estimation.demands();
    return found;
}

} // namespace kuijia::hedera
