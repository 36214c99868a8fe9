#include "elastic.hpp"

#include <algorithm>
#include <limits>

namespace kuijia::flow {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Two levels that differ by less than this share are equal up to rounding.
constexpr double dust = 1e-12;
// A sum that subtractions have shrunk to this share is recomputed before its rounding errors matter.
constexpr double coarse = 1e-3;

} // namespace

Filling::Filling(const Problem &problem, Crossings &crossings)
    : problem_(problem), crossings_(crossings), active_(problem.flows()), link_(problem.size()) {
    heap_.reserve(problem.size());
    satisfied_.reserve(problem.flows());
}

void Filling::fill(std::span<const std::int32_t> flows, std::span<double> left, std::span<double> goodput) {
    start(flows, left);
    double level = 0;
    auto next = satisfied_.begin();
    while (true) {
        while (next != satisfied_.end() && !active_[at(next->flow)])
            ++next;
        const double link_level = next_link(left, goodput);
        if (next == satisfied_.end() && heap_.empty())
            break; // flows with infinite offers cross links, so none is left
        if (next != satisfied_.end() && next->level <= link_level) {
            freeze(next->flow, problem_.offered[at(next->flow)], goodput);
            level = std::max(level, next->level);
        } else if (confirm_top(left, goodput)) {
            const auto link = heap_.front().link;
            level = std::max(level, level_of(at(link), left));
            for (const auto &crossing : crossings_.of(link))
                if (active_[at(crossing.flow)]) {
                    const auto flow = at(crossing.flow);
                    freeze(crossing.flow, std::min(problem_.offered[flow], level * problem_.weight[flow]), goodput);
                }
        }
    }
    for (const auto link : crossings_.used())
        left[at(link)] = std::max(0.0, left[at(link)] - link_[at(link)].taken);
}

void Filling::start(std::span<const std::int32_t> flows, std::span<const double> left) {
    crossings_.assign(flows);
    satisfied_.clear();
    for (const auto flow : flows) {
        active_[at(flow)] = 1;
        if (problem_.offered[at(flow)] < infinity)
            satisfied_.push_back({problem_.offered[at(flow)] / problem_.weight[at(flow)], flow});
    }
    std::sort(satisfied_.begin(), satisfied_.end(), [](const Satisfied &a, const Satisfied &b) {
        return a.level != b.level ? a.level < b.level : a.flow < b.flow;
    });
    heap_.clear();
    for (const auto link : crossings_.used()) {
        double weight = 0;
        for (const auto &crossing : crossings_.of(link))
            weight += problem_.weight[at(crossing.flow)];
        link_[at(link)] = {0, weight, weight, static_cast<std::int64_t>(crossings_.of(link).size())};
        heap_.push_back({level_of(at(link), left), link});
    }
    for (auto position = heap_.size() / 2; position-- > 0;)
        sift_down(position);
}

double Filling::level_of(std::size_t link, std::span<const double> left) const {
    return std::max(0.0, left[link] - link_[link].taken) / link_[link].weight;
}

double Filling::next_link(std::span<const double> left, std::span<const double> goodput) {
    // Levels only rise when flows freeze: an outdated level is too low, never too high.
    while (!heap_.empty()) {
        auto &top = heap_.front();
        const auto &link = link_[at(top.link)];
        if (link.rising == 0) {
            pop();
            continue;
        }
        if (link.weight < coarse * link.counted_weight)
            recount(top.link, goodput);
        const double level = level_of(at(top.link), left);
        if (level <= top.level)
            return top.level;
        top.level = level;
        sift_down(0);
        if (heap_.front().level >= level)
            return heap_.front().level;
    }
    return infinity;
}

bool Filling::confirm_top(std::span<const double> left, std::span<const double> goodput) {
    auto &top = heap_.front();
    recount(top.link, goodput);
    const double level = level_of(at(top.link), left);
    if (level <= top.level * (1 + dust))
        return true;
    top.level = level;
    sift_down(0);
    return false;
}

void Filling::recount(std::int32_t link, std::span<const double> goodput) {
    double taken = 0;
    double weight = 0;
    for (const auto &crossing : crossings_.of(link)) {
        if (active_[at(crossing.flow)])
            weight += problem_.weight[at(crossing.flow)];
        else
            taken += goodput[at(crossing.flow)];
    }
    link_[at(link)] = {taken, weight, weight, link_[at(link)].rising};
}

void Filling::freeze(std::int32_t flow, double rate, std::span<double> goodput) {
    active_[at(flow)] = 0;
    goodput[at(flow)] = rate;
    for (const auto number : problem_.path(at(flow))) {
        auto &link = link_[at(number)];
        link.taken += rate;
        link.weight -= problem_.weight[at(flow)];
        --link.rising;
    }
}

void Filling::sift_down(std::size_t position) {
    const auto before = [](const Entry &a, const Entry &b) {
        return a.level != b.level ? a.level < b.level : a.link < b.link;
    };
    const Entry entry = heap_[position];
    while (true) {
        auto child = 2 * position + 1;
        if (child >= heap_.size())
            break;
        if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child]))
            ++child;
        if (!before(heap_[child], entry))
            break;
        heap_[position] = heap_[child];
        position = child;
    }
    heap_[position] = entry;
}

void Filling::pop() {
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty())
        sift_down(0);
}

} // namespace kuijia::flow
