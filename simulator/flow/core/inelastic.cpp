#include "inelastic.hpp"

#include <algorithm>
#include <cmath>

namespace kuijia::flow {

namespace {

// Arrivals have reached the fixed point when their estimated distance from it is this share of their flow.
constexpr double tolerance = 1e-12;
// Rounding changes arrivals by about this much in every sweep.
constexpr double noise = 1e-15;
constexpr int sweeps_for_each_step = 2000;
constexpr int halvings = 6;

} // namespace

Thinning::Thinning(const Problem &problem, Crossings &crossings)
    : problem_(problem), crossings_(crossings), arriving_(problem.links.size()), total_(problem.size()),
      passed_(problem.size()), seen_(problem.size()) {
    order_.reserve(problem.size());
    stack_.reserve(problem.size());
}

bool Thinning::thin(std::span<const std::int32_t> flows, std::span<double> left, std::span<double> goodput,
                    std::span<double> dropped) {
    crossings_.assign(flows);
    for (const auto link : crossings_.used()) {
        total_[at(link)] = 0;
        passed_[at(link)] = 1;
    }
    for (const auto flow : flows) {
        const double rate = problem_.offered[at(flow)];
        for (auto hop = problem_.first[at(flow)]; hop < problem_.first[at(flow) + 1]; ++hop) {
            arriving_[at(hop)] = rate;
            total_[at(problem_.links[at(hop)])] += rate;
        }
    }
    const bool settled = !overloads(left) || settle(left);
    for (const auto flow : flows) {
        const auto end = problem_.first[at(flow) + 1];
        goodput[at(flow)] = end == problem_.first[at(flow)]
                                ? problem_.offered[at(flow)]
                                : arriving_[at(end - 1)] * passed_[at(problem_.links[at(end - 1)])];
    }
    for (const auto number : crossings_.used()) {
        const auto link = at(number);
        dropped[link] += std::max(0.0, total_[link] - left[link]);
        left[link] = std::max(0.0, left[link] - total_[link]);
    }
    return settled;
}

bool Thinning::overloads(std::span<const double> left) const {
    return std::any_of(crossings_.used().begin(), crossings_.used().end(),
                       [&](std::int32_t link) { return total_[at(link)] > left[at(link)]; });
}

bool Thinning::settle(std::span<const double> left) {
    sort_links();
    double step = 1;
    for (int halving = 0; halving <= halvings; ++halving, step /= 2) {
        double before = 0;
        for (int number = 0; number < sweeps_for_each_step; ++number) {
            const double change = sweep(left, step);
            // If changes shrink by a constant ratio, the remaining ones sum to change * ratio / (1 - ratio).
            const double ratio = before > 0 ? change / before : 1;
            if (change <= noise || (ratio < 1 && change * ratio / (1 - ratio) <= tolerance && change <= tolerance))
                return true;
            before = change;
        }
    }
    return false;
}

double Thinning::sweep(std::span<const double> left, double step) {
    double change = 0;
    for (const auto number : order_) {
        const auto link = at(number);
        double total = 0;
        for (const auto &crossing : crossings_.of(number)) {
            const auto flow = at(crossing.flow);
            const double offered = problem_.offered[flow];
            double rate = offered;
            if (crossing.hop > problem_.first[flow])
                rate = arriving_[at(crossing.hop - 1)] * passed_[at(problem_.links[at(crossing.hop - 1)])];
            if (rate != arriving_[at(crossing.hop)]) {
                change = std::max(change, std::abs(rate - arriving_[at(crossing.hop)]) / offered);
                arriving_[at(crossing.hop)] = rate;
            }
            total += rate;
        }
        total_[link] = total;
        const double target = total > left[link] ? left[link] / total : 1;
        change = std::max(change, std::abs(target - passed_[link]));
        passed_[link] += step * (target - passed_[link]);
    }
    return change;
}

void Thinning::sort_links() {
    // Depth-first search without recursion: each link leads to the next ones on the paths of its flows. The reverse of
    // the order in which links are left is the order wanted.
    order_.clear();
    for (const auto link : crossings_.used())
        seen_[at(link)] = 0;
    for (const auto root : crossings_.used()) {
        if (seen_[at(root)])
            continue;
        seen_[at(root)] = 1;
        stack_.push_back({root, 0});
        while (!stack_.empty()) {
            auto &visit = stack_.back();
            const auto crossings = crossings_.of(visit.link);
            if (visit.next == crossings.size()) {
                order_.push_back(visit.link);
                stack_.pop_back();
                continue;
            }
            const auto &crossing = crossings[visit.next++];
            if (crossing.hop + 1 == problem_.first[at(crossing.flow) + 1])
                continue;
            const auto behind = problem_.links[at(crossing.hop + 1)];
            if (!seen_[at(behind)]) {
                seen_[at(behind)] = 1;
                stack_.push_back({behind, 0});
            }
        }
    }
    std::reverse(order_.begin(), order_.end());
}

} // namespace kuijia::flow
