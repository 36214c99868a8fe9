// Proportional loss within one class: an overloaded link drops the same share of every flow; less arrives downstream.
#pragma once

#include "crossings.hpp"
#include "problem.hpp"

#include <span>
#include <vector>

namespace kuijia::flow {

class Thinning {
  public:
    // `crossings` holds the flows of one call of `thin`; others may use it between calls.
    Thinning(const Problem &problem, Crossings &crossings);

    // Sets the goodput of these flows, subtracts their use from the links' remaining capacity, and adds what each link
    // drops. Returns false if the losses reach no fixed point.
    bool thin(std::span<const std::int32_t> flows, std::span<double> left, std::span<double> goodput,
              std::span<double> dropped);

  private:
    bool overloads(std::span<const double> left) const;
    // Sorts the links so that, where possible, a link comes after those that flows cross before it.
    void sort_links();
    // Updates the arrivals at every link, in order; returns the largest change of an arrival (as a share of its flow)
    // or of the share that a link lets through.
    double sweep(std::span<const double> left, double step);
    bool settle(std::span<const double> left);

    const Problem &problem_;
    Crossings &crossings_;
    std::vector<double> arriving_;    // rate at each hop of each flow
    std::vector<double> total_;       // arriving rate of each link
    std::vector<double> passed_;      // share that each link lets through
    std::vector<std::int32_t> order_; // of links
    std::vector<std::uint8_t> seen_;
    struct Visit {
        std::int32_t link;
        std::size_t next;
    };
    std::vector<Visit> stack_;
};

} // namespace kuijia::flow
