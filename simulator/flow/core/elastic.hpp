// Weighted max-min fairness within one class: progressive filling, with the links in a heap by when they fill up.
#pragma once

#include "crossings.hpp"
#include "problem.hpp"

#include <span>
#include <vector>

namespace kuijia::flow {

class Filling {
  public:
    // `crossings` is for the flows of one call of `fill`, and free for others in between.
    Filling(const Problem &problem, Crossings &crossings);

    // Gives these flows their goodput from what is left of the links, and takes it off there.
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
        double weight;         // of flows that do
        double counted_weight; // the same when it was last computed anew
        std::int64_t rising;   // how many flows do
    };

    void start(std::span<const std::int32_t> flows, std::span<const double> left);
    double level_of(std::size_t link, std::span<const double> left) const;
    // Brings the link that fills up first to the top, and tells its level; infinite when none is left.
    double next_link(std::span<const double> left, std::span<const double> goodput);
    // Whether the top fills up when it seems to, with its sums computed anew.
    bool confirm_top(std::span<const double> left, std::span<const double> goodput);
    // Computes a link's sums anew, free of what many subtractions have rounded.
    void recount(std::int32_t link, std::span<const double> goodput);
    void freeze(std::int32_t flow, double rate, std::span<double> goodput);
    void sift_down(std::size_t position);
    void pop();

    const Problem &problem_;
    Crossings &crossings_;
    std::vector<Entry> heap_;
    std::vector<Satisfied> satisfied_;   // the flows by the level at which they have what they offer
    std::vector<std::uint8_t> active_;   // of each flow, whether it still rises
    std::vector<Link> link_;
};

} // namespace kuijia::flow
