// The flows of one class, indexed by the links that they cross. The memory is reused for each class.
#pragma once

#include "problem.hpp"

#include <span>
#include <vector>

namespace kuijia::flow {

// A flow crosses a link at a hop; `hop` is an index into `Problem::links`.
struct Crossing {
    std::int32_t flow;
    std::int32_t hop;
};

class Crossings {
  public:
    explicit Crossings(const Problem &problem);

    // Replaces the flows by these.
    void assign(std::span<const std::int32_t> flows);

    // Returns the crossed links, in no particular order.
    std::span<const std::int32_t> used() const { return used_; }

    // Returns the crossings of a link, in the order of `flows`.
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
