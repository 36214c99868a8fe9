// Simulated annealing over which label (core switch) each destination host is reached by.
#pragma once

#include "routes.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace kuijia::hedera {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        auto word = state_ += 0x9e3779b97f4a7c15;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
        word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
        return word ^ (word >> 31);
    }

    std::int32_t below(std::int32_t size) {
        return static_cast<std::int32_t>(((next() >> 32) * static_cast<std::uint64_t>(size)) >> 32);
    }

    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

// Slots have labels for good, and hosts sit in them: all moves are that two slots change hosts.
struct Seating {
    std::span<const std::int32_t> label;       // of each slot
    std::span<std::int32_t> host;              // in each slot, or -1; in and out
    std::span<const std::int32_t> pod_first;   // where the slots of each pod begin, and the end of the last
    std::span<const std::int32_t> block_first; // likewise of each aggregation switch
    std::span<const std::int32_t> edge_first;  // likewise, hosts of each edge switch
    std::span<const std::int64_t> fee;         // of each host, what it costs to reach it by another label than before
};

struct Schedule {
    std::int32_t iterations;
    double greed; // worse states are accepted with probability exp(-greed * excess * iterations / left)
    double unit;  // of amounts, for the excess in this formula
    std::uint64_t seed;
};

// exp(-hopeless) is less than any random number but zero.
constexpr double hopeless = 40;

struct Annealed {
    std::int64_t before, after; // energy: the sum of what links are exceeded by, and of fees
    std::int32_t improvements;  // how often a best state was found
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
    std::vector<std::int32_t> first_;
    std::vector<Feed> flows_;
};

// In a fat-tree what all flows to a host do to the links of its own pod is one amount.
template <> class Feeds<FatTreeRoutes> {
  public:
    Feeds(const FatTreeRoutes &routes, std::span<const std::int32_t> amount)
        : routes_(routes), into_(routes.hosts() + 1), feeds_(routes.flows()) {
        std::vector<std::int32_t> next(routes.hosts() + 1);
        for (std::size_t flow = 0; flow < feeds_.size(); ++flow)
            ++next[at(routes.target(flow)) + 1];
        for (std::size_t host = 1; host < next.size(); ++host)
            next[host] += next[host - 1];
        for (std::size_t host = 0; host < next.size(); ++host)
            into_[host].first = next[host];
        for (std::size_t flow = 0; flow < feeds_.size(); ++flow) {
            const auto host = at(routes.target(flow));
            const auto from = routes.edge(routes.source(flow)), to = routes.edge(routes.target(flow));
            const auto pod = routes.pod(from);
            const bool leaves_edge = from != to, leaves_pod = pod != routes.pod(to);
            feeds_[at(next[host]++)] = {routes.cables() + from * routes.half(),
                                        2 * routes.cables() + pod * routes.square(),
                                        leaves_edge ? amount[flow] : 0, leaves_pod ? amount[flow] : 0};
        }
        for (std::int32_t host = 0; at(host) < routes.hosts(); ++host) {
            auto &into = into_[at(host)];
            const auto edge = routes.edge(host);
            into.edge_links = 4 * routes.cables() + edge * routes.half();
            into.pod_links = 3 * routes.cables() + routes.pod(edge) * routes.square();
            for (auto place = into.first; place < into_[at(host) + 1].first; ++place) {
                into.edge_amount += feeds_[at(place)].edge_amount;
                into.pod_amount += feeds_[at(place)].pod_amount;
            }
        }
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
    std::vector<Into> into_;
    std::vector<Feed> feeds_;
};

template <class Routes> class Annealing {
  public:
    Annealing(const Routes &routes, std::span<const std::int32_t> amount, std::span<const std::int32_t> capacity,
              Seating seating, Schedule schedule)
        : feeds_(routes, amount), spare_(capacity.begin(), capacity.end()), seating_(seating), schedule_(schedule),
          seat_(routes.hosts()), random_(schedule.seed),
          greed_(schedule.greed * schedule.iterations / schedule.unit) {
        for (std::size_t slot = 0; slot < seating.host.size(); ++slot)
            if (const auto host = seating.host[slot]; host >= 0)
                seat_[at(host)] = {static_cast<std::int32_t>(slot), seating.label[slot], seating.fee[at(host)]};
        for (std::int32_t host = 0; at(host) < seat_.size(); ++host)
            feeds_.enter(host, seat_[at(host)].home,
                         [&](std::int32_t link, std::int32_t by) { spare_[at(link)] -= by; });
        for (const auto spare : spare_)
            energy_ += excess(spare);
    }

    Annealed run() {
        Annealed told{energy_, energy_, 0};
        std::vector<Swap> since_best;
        for (auto left = schedule_.iterations; left > 0; --left) {
            const auto [a, b] = draw();
            if (a == b || seating_.label[at(a)] == seating_.label[at(b)])
                continue;
            const auto before = energy_;
            exchange(a, b);
            if (energy_ > before && !accepted(energy_ - before, left)) {
                take_back(a, b, before);
                continue;
            }
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

    static std::int64_t excess(std::int32_t spare) { return spare < 0 ? -static_cast<std::int64_t>(spare) : 0; }

    bool accepted(std::int64_t worse, std::int32_t left) {
        const double exponent = static_cast<double>(worse) * (greed_ / left);
        return exponent < hopeless && std::exp(-exponent) > random_.unit();
    }

    Swap draw() {
        switch (random_.below(3)) {
        case 0: return of_range(seating_.pod_first, random_.below(size(seating_.pod_first)));
        case 1: return of_edge(random_.below(size(seating_.edge_first)));
        default: {
            const auto edges = size(seating_.edge_first);
            const auto which = random_.below(edges + size(seating_.block_first));
            return which < edges ? of_edge(which) : of_range(seating_.block_first, which - edges);
        }
        }
    }

    static std::int32_t size(std::span<const std::int32_t> first) { return static_cast<std::int32_t>(first.size()) - 1; }

    // Two of a range, different ones if there are two.
    Swap of_range(std::span<const std::int32_t> first, std::int32_t which) {
        const auto begin = first[at(which)], length = first[at(which) + 1] - begin;
        if (length < 2)
            return {0, 0};
        const auto a = random_.below(length);
        const auto b = random_.below(length - 1);
        return {begin + a, begin + b + (b >= a)};
    }

    Swap of_edge(std::int32_t which) {
        const auto hosts = of_range(seating_.edge_first, which);
        return {seat_[at(hosts.a)].slot, seat_[at(hosts.b)].slot};
    }

    void exchange(std::int32_t a, std::int32_t b) {
        auto &first = seating_.host[at(a)], &second = seating_.host[at(b)];
        relabel(first, a, b);
        relabel(second, b, a);
        std::swap(first, second);
    }

    void relabel(std::int32_t host, std::int32_t from, std::int32_t to) {
        if (host < 0)
            return;
        const auto old_label = seating_.label[at(from)], new_label = seating_.label[at(to)];
        auto energy = energy_;
        feeds_.shift(host, old_label, new_label, [&](std::int32_t link, std::int32_t by) {
            auto &spare = spare_[at(link)];
            energy -= excess(spare);
            spare -= by;
            energy += excess(spare);
        });
        auto &seat = seat_[at(host)];
        energy_ = energy + (old_label == seat.home ? seat.fee : 0) - (new_label == seat.home ? seat.fee : 0);
        seat.slot = to;
    }

    void take_back(std::int32_t a, std::int32_t b, std::int64_t energy) {
        energy_ = energy;
        auto &first = seating_.host[at(a)], &second = seating_.host[at(b)];
        std::swap(first, second);
        put_back(first, b, a);
        put_back(second, a, b);
    }

    void put_back(std::int32_t host, std::int32_t from, std::int32_t to) {
        if (host < 0)
            return;
        feeds_.shift(host, seating_.label[at(from)], seating_.label[at(to)],
                     [&](std::int32_t link, std::int32_t by) { spare_[at(link)] -= by; });
        seat_[at(host)].slot = to;
    }

    struct Seat {
        std::int32_t slot = -1;
        std::int32_t home = -1; // the label that the host began with
        std::int64_t fee = 0;   // for any other one
    };

    Feeds<Routes> feeds_;
    std::vector<std::int32_t> spare_; // of each link, negative where it is exceeded
    Seating seating_;
    Schedule schedule_;
    std::vector<Seat> seat_; // of each host
    Random random_;
    double greed_; // for the last iteration
    std::int64_t energy_ = 0;
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
