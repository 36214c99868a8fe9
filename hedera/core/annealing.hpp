// Simulated annealing over which label (core switch) each destination host is reached by.
#pragma once

#include "routes.hpp"
#include "search.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace kuijia::hedera {

// Slots have labels for good, and hosts sit in them: all moves are that two slots change hosts.
struct Seating {
    std::span<const std::int32_t> label;       // of each slot
    std::span<std::int32_t> host;              // in each slot, or -1; in and out
    std::span<const std::int32_t> pod_first;   // where the slots of each pod begin, and the end of the last
    std::span<const std::int32_t> block_first; // likewise of each aggregation switch
    std::span<const std::int32_t> edge_first;  // likewise, hosts of each edge switch
    std::span<const std::int64_t> fee;         // of each host, what it costs to reach it by another label than before
};

// What flows do to links when the label of their destination changes; the flows of a host in one run.
template <class Routes> class Feeds {
  public:
    Feeds(const Routes &routes, std::span<const std::int32_t> amount)
        : routes_(routes), first_(routes.hosts() + 2), flows_(routes.flows()) {
        for (std::size_t flow = 0; flow < flows_.size(); ++flow)
            ++first_[at(routes.target(flow)) + 2];
        for (std::size_t host = 2; host < first_.size(); ++host)
            first_[host] += first_[host - 1];
        for (std::size_t flow = 0; flow < flows_.size(); ++flow)
            flows_[at(first_[at(routes.target(flow)) + 1]++)] = {static_cast<std::int32_t>(flow), amount[flow]};
    }

    // How many links `shift` visits, at most.
    std::size_t changes(std::int32_t host) const {
        return host < 0 ? 0 : at(first_[at(host) + 1] - first_[at(host)]) * 2 * routes_.longest();
    }

    template <class Visit> void shift(std::int32_t host, std::int32_t from, std::int32_t to, Visit &&visit) const {
        for (auto place = first_[at(host)]; place < first_[at(host) + 1]; ++place) {
            const auto [flow, amount] = flows_[at(place)];
            routes_.path(at(flow), from, [&](std::int32_t link) { visit(link, -amount); });
            routes_.path(at(flow), to, [&](std::int32_t link) { visit(link, amount); });
        }
    }

    template <class Visit> void enter(std::int32_t host, std::int32_t label, Visit &&visit) const {
        for (auto place = first_[at(host)]; place < first_[at(host) + 1]; ++place) {
            const auto [flow, amount] = flows_[at(place)];
            routes_.path(at(flow), label, [&](std::int32_t link) { visit(link, amount); });
        }
    }

  private:
    struct Feed {
        std::int32_t flow, amount;
    };

    const Routes &routes_;
    Kept<std::int32_t> first_;
    Kept<Feed> flows_;
};

// In a fat-tree what all flows to a host do to the links of its own pod is one amount.
template <> class Feeds<FatTreeRoutes> {
  public:
    Feeds(const FatTreeRoutes &routes, std::span<const std::int32_t> amount)
        : routes_(routes), into_(routes.hosts() + 1), feeds_(routes.flows()) {
        Kept<std::int32_t> flows(routes.hosts());
        for (std::size_t flow = 0; flow < feeds_.size(); ++flow)
            ++flows[at(routes.target(flow))];
        for (std::int32_t host = 0; at(host) < routes.hosts(); ++host) {
            const auto edge = routes.edge(host);
            auto &into = into_[at(host)];
            into.edge_links = 4 * routes.cables() + edge * routes.half();
            into.pod_links = 3 * routes.cables() + routes.pod(edge) * routes.square();
            into_[at(host) + 1].first = into.first + flows[at(host)];
        }
        for (std::size_t flow = 0; flow < feeds_.size(); ++flow) {
            auto &into = into_[at(routes.target(flow))];
            const auto from = routes.edge(routes.source(flow));
            Feed feed{routes.cables() + from * routes.half(),
                      2 * routes.cables() + routes.pod(from) * routes.square(), amount[flow], amount[flow]};
            if (feed.edge_links + 3 * routes.cables() == into.edge_links)
                feed.edge_amount = 0;
            if (feed.pod_links + routes.cables() == into.pod_links)
                feed.pod_amount = 0;
            into.edge_amount += feed.edge_amount;
            into.pod_amount += feed.pod_amount;
            feeds_[at(into.first++)] = feed;
        }
        for (std::size_t host = 0; host < flows.size(); ++host)
            into_[host].first -= flows[host];
    }

    // How many links `shift` visits, at most.
    std::size_t changes(std::int32_t host) const {
        return host < 0 ? 0 : at(4 * (into_[at(host) + 1].first - into_[at(host)].first) + 4);
    }

    template <class Visit> void shift(std::int32_t host, std::int32_t from, std::int32_t to, Visit &&visit) const {
        const auto old_group = routes_.aggregation(from), new_group = routes_.aggregation(to);
        const bool other_group = old_group != new_group;
        const auto &into = into_[at(host)];
        const auto end = into_[at(host) + 1].first;
        for (auto place = into.first; place < end; ++place) {
            const auto &feed = feeds_[at(place)];
            if (other_group && feed.edge_amount) {
                visit(feed.edge_links + old_group, -feed.edge_amount);
                visit(feed.edge_links + new_group, feed.edge_amount);
            }
            if (feed.pod_amount) {
                visit(feed.pod_links + from, -feed.pod_amount);
                visit(feed.pod_links + to, feed.pod_amount);
            }
        }
        if (into.pod_amount) {
            visit(into.pod_links + from, -into.pod_amount);
            visit(into.pod_links + to, into.pod_amount);
        }
        if (other_group && into.edge_amount) {
            visit(into.edge_links + old_group, -into.edge_amount);
            visit(into.edge_links + new_group, into.edge_amount);
        }
    }

    template <class Visit> void enter(std::int32_t host, std::int32_t label, Visit &&visit) const {
        const auto group = routes_.aggregation(label);
        const auto &into = into_[at(host)];
        const auto end = into_[at(host) + 1].first;
        for (auto place = into.first; place < end; ++place) {
            const auto &feed = feeds_[at(place)];
            visit(feed.edge_links + group, feed.edge_amount);
            visit(feed.pod_links + label, feed.pod_amount);
        }
        visit(into.pod_links + label, into.pod_amount);
        visit(into.edge_links + group, into.edge_amount);
    }

  private:
    // A flow: the first of the links up from its edge switch, and of those up from its pod.
    struct Feed {
        std::int32_t edge_links, pod_links, edge_amount, pod_amount;
    };
    // All flows to a host: where they begin, and the first of the links down into its pod, and down to its edge switch.
    struct Into {
        std::int32_t first, edge_links, pod_links, edge_amount, pod_amount;
    };

    const FatTreeRoutes &routes_;
    Kept<Into> into_;
    Kept<Feed> feeds_;
};

template <class Routes> class Annealing {
  public:
    Annealing(const Routes &routes, std::span<const std::int32_t> amount, std::span<const std::int32_t> capacity,
              Seating seating, Schedule schedule)
        : feeds_(routes, amount), links_(capacity), seating_(seating), schedule_(schedule), slot_(routes.hosts()),
          home_(routes.hosts()), random_(schedule.seed), acceptance_(schedule),
          charges_(std::any_of(seating.fee.begin(), seating.fee.end(), [](std::int64_t fee) { return fee != 0; })) {
        for (std::size_t slot = 0; slot < seating.host.size(); ++slot)
            if (const auto host = seating.host[slot]; host >= 0) {
                slot_[at(host)] = static_cast<std::int32_t>(slot);
                home_[at(host)] = seating.label[slot];
            }
        for (std::int32_t host = 0; at(host) < home_.size(); ++host)
            feeds_.enter(host, home_[at(host)], [&](std::int32_t link, std::int32_t by) { links_.fill(link, by); });
        energy_ = links_.exceeded();
        list_ranges();
    }

    Annealed run() {
        Annealed told{energy_, energy_, 0};
        Kept<Swap> since_best;
        for (auto left = schedule_.iterations; left > 0; --left) {
            const auto [a, b] = draw();
            if (a == b || seating_.label[at(a)] == seating_.label[at(b)])
                continue;
            const auto first = seating_.host[at(a)], second = seating_.host[at(b)];
            auto edit = links_.edit(feeds_.changes(first) + feeds_.changes(second));
            const auto fees = relabel(first, a, b, edit) + relabel(second, b, a, edit);
            const auto worse = edit.more() + fees;
            if (worse > 0 && !acceptance_.accepts(worse, left, random_)) {
                links_.take_back(edit);
                continue;
            }
            seat(a, b);
            energy_ += worse;
            since_best.push_back({a, b});
            if (energy_ < told.after) {
                told.after = energy_;
                ++told.improvements;
                since_best.clear();
            }
        }
        for (; !since_best.empty(); since_best.pop_back())
            std::swap(seating_.host[at(since_best.back().a)], seating_.host[at(since_best.back().b)]);
        return told;
    }

  private:
    struct Swap {
        std::int32_t a, b; // slots
    };
    struct Range {
        std::int32_t begin, size;
        bool is_of_hosts; // not of slots
    };
    struct Kind {
        std::int32_t begin, size; // ranges
    };

    // Slots of a pod, hosts of an edge switch, or of an edge or aggregation switch.
    Swap draw() {
        const auto &kind = kinds_[at(random_.below(static_cast<std::int32_t>(kinds_.size())))];
        const auto &range = ranges_[at(kind.begin + random_.below(kind.size))];
        if (range.size < 2)
            return {0, 0};
        const auto a = random_.below(range.size);
        const auto b = random_.below(range.size - 1);
        const Swap swap{range.begin + a, range.begin + b + (b >= a)};
        return range.is_of_hosts ? Swap{slot_[at(swap.a)], slot_[at(swap.b)]} : swap;
    }

    void list_ranges() {
        const auto begin = [&] { return static_cast<std::int32_t>(ranges_.size()); };
        const auto list = [&](std::span<const std::int32_t> first, bool is_of_hosts) {
            for (std::size_t range = 0; range + 1 < first.size(); ++range)
                ranges_.push_back({first[range], first[range + 1] - first[range], is_of_hosts});
        };
        list(seating_.pod_first, false);
        const auto edges = begin();
        list(seating_.edge_first, true);
        const auto blocks = begin();
        list(seating_.block_first, false);
        kinds_ = {Kind{0, edges}, Kind{edges, blocks - edges}, Kind{edges, begin() - edges}};
    }

    // Returns how much it costs in fees.
    std::int64_t relabel(std::int32_t host, std::int32_t from, std::int32_t to, Links::Edit &edit) {
        if (host < 0)
            return 0;
        const auto old_label = seating_.label[at(from)], new_label = seating_.label[at(to)];
        feeds_.shift(host, old_label, new_label, edit);
        if (!charges_)
            return 0;
        const auto fee = seating_.fee[at(host)];
        return (old_label == home_[at(host)] ? fee : 0) - (new_label == home_[at(host)] ? fee : 0);
    }

    void seat(std::int32_t a, std::int32_t b) {
        auto &first = seating_.host[at(a)], &second = seating_.host[at(b)];
        std::swap(first, second);
        if (first >= 0)
            slot_[at(first)] = a;
        if (second >= 0)
            slot_[at(second)] = b;
    }

    Feeds<Routes> feeds_;
    Links links_;
    Seating seating_;
    Schedule schedule_;
    Kept<std::int32_t> slot_, home_; // of each host: its slot, and the label that it began with
    Kept<Range> ranges_; // from which two are drawn
    std::array<Kind, 3> kinds_{};
    Random random_;
    Acceptance acceptance_;
    std::int64_t energy_ = 0;
    bool charges_; // whether any host has a fee
};

// Throws std::invalid_argument, saying which entry is wrong.
template <class Routes>
void validate(const Routes &routes, std::span<const std::int32_t> amount, std::span<const std::int32_t> capacity,
              const Seating &seating, const Schedule &schedule);

template <class Routes>
Annealed anneal(const Routes &routes, std::span<const std::int32_t> amount, std::span<const std::int32_t> capacity,
                Seating seating, Schedule schedule) {
    validate(routes, amount, capacity, seating, schedule);
    return Annealing<Routes>(routes, amount, capacity, seating, schedule).run();
}

} // namespace kuijia::hedera
