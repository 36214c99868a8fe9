#include "crossings.hpp"

namespace kuijia::flow {

Crossings::Crossings(const Problem &problem)
    : problem_(problem), begin_(problem.size()), count_(problem.size()), crossings_(problem.links.size()) {
    used_.reserve(problem.size());
}

void Crossings::assign(std::span<const std::int32_t> flows) {
    for (const auto link : used_)
        count_[static_cast<std::size_t>(link)] = 0;
    used_.clear();
    for (const auto flow : flows)
        for (const auto link : problem_.path(static_cast<std::size_t>(flow)))
            if (count_[static_cast<std::size_t>(link)]++ == 0)
                used_.push_back(link);
    std::int32_t end = 0;
    for (const auto link : used_) {
        begin_[static_cast<std::size_t>(link)] = end;
        end += count_[static_cast<std::size_t>(link)];
        count_[static_cast<std::size_t>(link)] = 0;
    }
    for (const auto flow : flows) {
        auto hop = static_cast<std::int32_t>(problem_.first[static_cast<std::size_t>(flow)]);
        for (const auto number : problem_.path(static_cast<std::size_t>(flow))) {
            const auto link = static_cast<std::size_t>(number);
            crossings_[static_cast<std::size_t>(begin_[link] + count_[link]++)] = {flow, hop++};
        }
    }
}

} // namespace kuijia::flow
