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
        forget_sums(static_cast<std::size_t>(first - ranges_.begin()) + 1);
        if (first == last) {
            ranges_.insert(first, added);
        } else {
            *first = added;
            ranges_.erase(first + 1, last);
        }
    }

    void remove_below(std::uint32_t number) {
        const auto before = count_;
        auto kept = ranges_.begin();
        for (; kept != ranges_.end() && kept->end <= number; ++kept)
            count_ -= kept->size();
        if (kept != ranges_.end() && kept->begin < number) {
            count_ -= number - kept->begin;
            kept->begin = number;
        }
        removed_ += before - count_;
        const auto gone = kept - ranges_.begin();
        if (static_cast<std::size_t>(gone) < sums_.size()) {
            sums_.erase(sums_.begin(), sums_.begin() + gone);
            sums_.front() = removed_;
        } else {
            sums_.clear();
        }
        if (gone > 0)
            ranges_.erase(ranges_.begin(), kept);
    }

    void clear() {
        ranges_.clear();
        count_ = 0;
        sums_.clear();
    }

    // Returns how many of [begin, end) are in the set.
    std::uint32_t count_within(std::uint32_t begin, std::uint32_t end) const {
        return begin < end ? count_below(end) - count_below(begin) : 0;
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

    std::uint32_t count_below(std::uint32_t number) const {
        const auto range = ending_after(number);
        if (range == ranges_.end())
            return count_;
        const auto place = static_cast<std::size_t>(range - ranges_.begin());
        if (sums_.empty())
            sums_.push_back(removed_);
        while (sums_.size() <= place)
            sums_.push_back(sums_.back() + ranges_[sums_.size() - 1].size());
        return sums_[place] - removed_ + (range->begin < number ? number - range->begin : 0);
    }

    void forget_sums(std::size_t from) {
        if (from < sums_.size())
            sums_.resize(from);
    }

    std::vector<Range> ranges_;
    std::uint32_t count_ = 0;
    // Of the first ranges, as far as known: numbers in those before each, and `removed_`, which `remove_below` took.
    // A sender that lost every other segment of a large window has thousands of ranges, and counts at each packet.
    mutable std::vector<std::uint32_t> sums_;
    std::uint32_t removed_ = 0;
};

} // namespace kuijia::packet
