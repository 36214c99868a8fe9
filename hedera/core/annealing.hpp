// Simulated annealing over the label (core switch) of each destination host.
#pragma once

#include "routes.hpp"
#include "search.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace kuijia::hedera {

// Slots have fixed labels and hold hosts: every move exchanges the hosts of two slots.
struct Seating {
    std::span<const std::int32_t> label;       // of each slot
    std::span<std::int32_t> host;              // in each slot, or -1; in and out
    std::span<const std::int32_t> pod_first;   // where the slots of each pod begin, and the end of the last
    std::span<const std::int32_t> block_first; // the same for each aggregation switch
    std::span<const std::int32_t> edge_first;  // the same for the hosts of each edge switch
    std::span<const std::int64_t> fee;         // cost of giving each host another label than before
};

// Changes of the links' load when the label of a destination changes. The flows to a host are consecutive.
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

    // Returns the most links that `shift` visits.
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

    // Prefetches the flows of a host.
    void fetch(std::int32_t host) const { __builtin_prefetch(flows_.data() + first_[at(host)]); }

  private:
    struct Feed {
        std::int32_t flow, amount;
    };

    const Routes &routes_;
    Kept<std::int32_t> first_;
    Kept<Feed> flows_;
};

// In a fat-tree all flows to a host share the links of its own pod, so these change once, by the flows' sum. A flow is
// stored as its source's edge switch and its amount, so that most data of a search stays in the processor's caches.
template <> class Feeds<FatTreeRoutes> {
  public:
    Feeds(const FatTreeRoutes &routes, std::span<const std::int32_t> amount)
        : routes_(routes), first_(routes.hosts() + 2), feeds_(routes.flows()) {
        for (std::size_t flow = 0; flow < feeds_.size(); ++flow)
            ++first_[at(routes.target(flow)) + 2];
        for (std::size_t host = 2; host < first_.size(); ++host)
            first_[host] += first_[host - 1];
        for (std::size_t flow = 0; flow < feeds_.size(); ++flow)
            feeds_[at(first_[at(routes.target(flow)) + 1]++)] = {routes.edge(routes.source(flow)), amount[flow]};
    }

    // Returns the most links that `shift` visits.
    std::size_t changes(std::int32_t host) const {
        return host < 0 ? 0 : at(4 * (first_[at(host) + 1] - first_[at(host)]) + 4);
    }

    template <class Visit> void shift(std::int32_t host, std::int32_t from, std::int32_t to, Visit &&visit) const {
        const auto cables = routes_.cables(), half = routes_.half(), square = routes_.square();
        const auto edge = routes_.edge(host), pod = routes_.pod(edge);
        const auto old_group = routes_.aggregation(from), new_group = routes_.aggregation(to);
        const bool other_group = old_group != new_group;
        // `links` are those of an edge switch to its pod's aggregation switches, or those of a pod to the core.
        const auto at_edge = [&](std::int32_t links, std::int32_t amount) {
            if (!other_group)
                return;
            visit(links + old_group, -amount);
            visit(links + new_group, amount);
        };
        const auto at_pod = [&](std::int32_t links, std::int32_t amount) {
            visit(links + from, -amount);
            visit(links + to, amount);
        };
        std::int32_t into_edge = 0, into_pod = 0;
        for (auto place = first_[at(host)]; place < first_[at(host) + 1]; ++place) {
            const auto feed = feeds_[at(place)];
            if (feed.edge == edge)
                continue;
            at_edge(cables + feed.edge * half, feed.amount);
            into_edge += feed.amount;
            const auto source_pod = routes_.pod(feed.edge);
            if (source_pod == pod)
                continue;
            at_pod(2 * cables + source_pod * square, feed.amount);
            into_pod += feed.amount;
        }
        if (into_pod)
            at_pod(3 * cables + pod * square, into_pod);
        if (into_edge)
            at_edge(4 * cables + edge * half, into_edge);
    }

    // Prefetches the flows of a host.
    void fetch(std::int32_t host) const { __builtin_prefetch(feeds_.data() + first_[at(host)]); }

  private:
    struct Feed {
        std::int32_t edge, amount; // the edge switch is the source's
    };

    const FatTreeRoutes &routes_;
    Kept<std::int32_t> first_; // where the flows to each host begin
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
        for (std::size_t flow = 0; flow < amount.size(); ++flow)
            routes.path(flow, home_[at(routes.target(flow))],
                        [&](std::int32_t link) { links_.fill(link, amount[flow]); });
        energy_ = links_.exceeded();
        list_ranges();
    }

    Annealed run() {
        Annealed told{energy_, energy_, 0};
        Kept<Swap> since_best;
        auto next = draw(random_), later = draw(next.after);
        for (auto left = schedule_.iterations; left > 0; --left) {
            const auto [a, b] = slots(next);
            random_ = next.after;
            next = later;
            later = draw(next.after);
            fetch_flows(next);
            fetch_slots(later);
            if (a == b || seating_.label[at(a)] == seating_.label[at(b)])
                continue;
            const auto first = seating_.host[at(a)], second = seating_.host[at(b)];
            auto edit = links_.edit(feeds_.changes(first) + feeds_.changes(second));
            const auto fees = relabel(first, a, b, edit) + relabel(second, b, a, edit);
            const auto worse = edit.more() + fees;
            if (worse > 0) {
                const auto unasked = random_;
                const bool is_accepted = acceptance_.accepts(worse, left, random_);
                if (random_ != unasked) {
                    next = draw(random_);
                    later = draw(next.after);
                }
                if (!is_accepted) {
                    links_.take_back(edit);
                    continue;
                }
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
        bool is_of_hosts; // otherwise of slots
    };
    struct Kind {
        std::int32_t begin, size; // ranges
    };

    // The next move is drawn before the present one is decided, so that its memory is fetched early. The decision
    // rarely needs a random number; if it does, the next move is drawn again.
    struct Draw {
        std::int32_t a, b; // slots or hosts
        bool is_of_hosts;
        Random after;
    };

    // Draws two slots of a pod, two hosts of an edge switch, or two of an edge or aggregation switch.
    Draw draw(Random random) const {
        const auto &kind = kinds_[at(random.below(static_cast<std::int32_t>(kinds_.size())))];
        const auto &range = ranges_[at(kind.begin + random.below(kind.size))];
        if (range.size < 2)
            return {0, 0, false, random};
        const auto a = random.below(range.size);
        const auto b = random.below(range.size - 1);
        return {range.begin + a, range.begin + b + (b >= a), range.is_of_hosts, random};
    }

    Swap slots(const Draw &drawn) const {
        return drawn.is_of_hosts ? Swap{slot_[at(drawn.a)], slot_[at(drawn.b)]} : Swap{drawn.a, drawn.b};
    }

    void fetch_slots(const Draw &drawn) const {
        const auto *entries = drawn.is_of_hosts ? slot_.data() : seating_.host.data();
        __builtin_prefetch(entries + drawn.a);
        __builtin_prefetch(entries + drawn.b);
    }

    void fetch_flows(const Draw &drawn) const {
        if (drawn.a == drawn.b)
            return; // there may be no slots
        for (const auto entry : {drawn.a, drawn.b})
            if (const auto host = drawn.is_of_hosts ? entry : seating_.host[at(entry)]; host >= 0)
                feeds_.fetch(host);
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

    // Returns the change of fees.
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
    Kept<std::int32_t> slot_, home_; // slot and initial label of each host
    Kept<Range> ranges_;             // from which two slots or hosts are drawn
    std::array<Kind, 3> kinds_{};
    Random random_;
    Acceptance acceptance_;
    std::int64_t energy_ = 0;
    bool charges_; // true if any host has a fee
};

// Throws std::invalid_argument, naming the wrong entry.
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
