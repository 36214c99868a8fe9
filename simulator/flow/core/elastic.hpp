// Weighted max-min fairness within one class: progressive filling with a heap of links, ordered by when they fill up.
#pragma once

#include "crossings.hpp"
#include "problem.hpp"

#include <span>
#include <vector>

namespace kuijia::flow {

class Filling {
  public:
    // `crossings` holds the flows of one call of `fill`; others may use it between calls.
    Filling(const Problem &problem, Crossings &crossings);

    // Sets the goodput of these flows and subtracts it from the links' remaining capacity.
    void fill(std::span<const std::int32_t> flows, std::span<double> left, std::span<double> goodput);

  private:
    struct Entry {
        double level;
        std::int32_t link;
    };

    struct Satisfied {
        double level;
        std::int32_t flow;
    };
    struct Link {
        double taken;          // by flows that no longer rise
        double weight;         // of flows that still rise
        double counted_weight; // `weight` when it was last recomputed
        std::int64_t rising;   // number of flows that still rise
    };

    void start(std::span<const std::int32_t> flows, std::span<const double> left);
    double level_of(std::size_t link, std::span<const double> left) const;
    // Moves the link that fills up first to the top and returns its level; infinite when none is left.
    double next_link(std::span<const double> left, std::span<const double> goodput);
    // Recomputes the sums of the top; returns true if it still fills up at its recorded level.
    bool confirm_top(std::span<const double> left, std::span<const double> goodput);
    // Recomputes a link's sums, without the rounding errors of many subtractions.
    void recount(std::int32_t link, std::span<const double> goodput);
    void freeze(std::int32_t flow, double rate, std::span<double> goodput);
    void sift_down(std::size_t position);
    void pop();

    const Problem &problem_;
    Crossings &crossings_;
    std::vector<Entry> heap_;
    std::vector<Satisfied> satisfied_; // flows by the level at which they get all they offer
    std::vector<std::uint8_t> active_; // 1 for each flow that still rises
    std::vector<Link> link_;
};

} // namespace kuijia::flow
