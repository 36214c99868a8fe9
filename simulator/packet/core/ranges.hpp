// Sets of segments as sorted ranges that do not touch: out-of-order arrivals and selective acknowledgements.
#pragma once

#include "packets.hpp"

#include <algorithm>
#include <vector>

namespace kuijia::packet {

class RangeSet {
  public:
    bool empty() const { return ranges_.empty(); }
    std::uint32_t count() const { return count_; }
    std::uint32_t end() const { return ranges_.empty() ? 0 : ranges_.back().end; }
    const std::vector<Range> &ranges() const { return ranges_; }

    bool contains(std::uint32_t number) const {
        const auto found = ending_after(number);
        return found != ranges_.end() && found->begin <= number;
    }

    // Returns the range that contains the number; the number alone if there is none.
    Range around(std::uint32_t number) const {
        const auto found = ending_after(number);
        return found != ranges_.end() && found->begin <= number ? *found : Range{number, number + 1};
    }

    // Adds the numbers that are not yet in the set.
    void add(Range added) {
        if (added.begin >= added.end)
            return;
        if (!ranges_.empty() && ranges_.back().begin <= added.begin && added.begin <= ranges_.back().end) {
            auto &last = ranges_.back();
            if (added.end > last.end) {
                count_ += added.end - last.end;
                last.end = added.end;
            }
            return;
        }
        auto first = std::lower_bound(ranges_.begin(), ranges_.end(), added.begin,
                                      [](const Range &range, std::uint32_t number) { return range.end < number; });
        auto last = first;
        for (; last != ranges_.end() && last->begin <= added.end; ++last) {
            added.begin = std::min(added.begin, last->begin);
            added.end = std::max(added.end, last->end);
            count_ -= last->size();
        }
        count_ += added.size();
        if (first == last) {
            ranges_.insert(first, added);
        } else {
            *first = added;
            ranges_.erase(first + 1, last);
        }
    }

    void remove_below(std::uint32_t number) {
        auto kept = ranges_.begin();
        for (; kept != ranges_.end() && kept->end <= number; ++kept)
            count_ -= kept->size();
        if (kept != ranges_.end() && kept->begin < number) {
            count_ -= number - kept->begin;
            kept->begin = number;
        }
        if (kept != ranges_.begin())
            ranges_.erase(ranges_.begin(), kept);
    }

    void clear() {
        ranges_.clear();
        count_ = 0;
    }

    // Returns how many of [begin, end) are in the set.
    std::uint32_t count_within(std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t count = 0;
        for (auto range = ending_after(begin); range != ranges_.end() && range->begin < end; ++range)
            count += std::min(end, range->end) - std::max(begin, range->begin);
        return count;
    }

    // Returns the first number from `number` on that is not in the set.
    std::uint32_t first_missing(std::uint32_t number) const {
        const auto found = ending_after(number);
        return found != ranges_.end() && found->begin <= number ? found->end : number;
    }

    // Returns the number of the set with exactly `above` larger ones; 0 if the set has no more than `above`.
    std::uint32_t from_top(std::uint32_t above) const {
        for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
            if (range->size() > above)
                return range->end - 1 - above;
            above -= range->size();
        }
        return 0;
    }

  private:
    std::vector<Range>::const_iterator ending_after(std::uint32_t number) const {
        return std::upper_bound(ranges_.begin(), ranges_.end(), number,
                                [](std::uint32_t value, const Range &range) { return value < range.end; });
    }

    std::vector<Range> ranges_;
    std::uint32_t count_ = 0;
};

} // namespace kuijia::packet
