// The flows of one class by the links that they cross: paths turned round, in memory that is used again for each class.
#pragma once

#include "problem.hpp"

#include <span>
#include <vector>

namespace kuijia::flow {

// A flow crosses a link at a hop: `hop` counts through `Problem::links`.
struct Crossing {
    std::int32_t flow;
    std::int32_t hop;
};

class Crossings {
  public:
    explicit Crossings(const Problem &problem);

    // Takes in these flows instead of those before.
    void assign(std::span<const std::int32_t> flows);

    // The links that are crossed, in no particular order.
    std::span<const std::int32_t> used() const { return used_; }

    // In the order of `flows`.
    std::span<const Crossing> of(std::int32_t link) const {
        const auto begin = static_cast<std::size_t>(begin_[static_cast<std::size_t>(link)]);
        return std::span(crossings_).subspan(begin, static_cast<std::size_t>(count_[static_cast<std::size_t>(link)]));
    }

  private:
    const Problem &problem_;
    std::vector<std::int32_t> used_;
    std::vector<std::int32_t> begin_;
    std::vector<std::int32_t> count_;
    std::vector<Crossing> crossings_;
};

} // namespace kuijia::flow
