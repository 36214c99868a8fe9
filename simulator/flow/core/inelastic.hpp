// Proportional loss within one class: what a link cannot carry it takes off all flows alike, and less arrives behind.
#pragma once

#include "crossings.hpp"
#include "problem.hpp"

#include <span>
#include <vector>

namespace kuijia::flow {

class Thinning {
  public:
    // `crossings` is for the flows of one call of `thin`, and free for others in between.
    Thinning(const Problem &problem, Crossings &crossings);

    // Gives these flows their goodput, takes what they use off what is left of the links, and adds what each drops.
    // False when the losses come to no fixed point.
    bool thin(std::span<const std::int32_t> flows, std::span<double> left, std::span<double> goodput,
              std::span<double> dropped);

  private:
    bool overloads(std::span<const double> left) const;
    // Puts the links so that, where it can be, a link comes after those that flows cross before it.
    void sort_links();
    // Lets every link see what arrives, in order; tells the greatest change of any arrival, as a share of its flow.
    double sweep(std::span<const double> left, double step);
    bool settle(std::span<const double> left);

    const Problem &problem_;
    Crossings &crossings_;
    std::vector<double> arriving_;    // of each hop of each flow
    std::vector<double> total_;       // of each link, what arrives
    std::vector<double> passed_;      // of each link, the share that it lets through
    std::vector<std::int32_t> order_; // of links
    std::vector<std::uint8_t> seen_;
    struct Visit {
        std::int32_t link;
        std::size_t next;
    };
    std::vector<Visit> stack_;
};

} // namespace kuijia::flow
