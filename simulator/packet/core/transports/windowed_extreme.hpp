// The least or the largest of the values of a window that moves with time, or with another number that only grows.
#pragma once

#include "units.hpp"

#include <deque>

namespace kuijia::packet {

// `Better` is std::less for the least value and std::greater for the largest. Of values that come within a 256th of the
// window only those that are better than the one before are kept, so that memory has a bound.
template <typename Value, typename Better> class WindowedExtreme {
  public:
    void add(Time now, Value value, Time window) {
        while (!entries_.empty() && !Better()(entries_.back().value, value))
            entries_.pop_back();
        if (entries_.empty() || now - entries_.back().time >= window / 256)
            entries_.push_back({now, value});
        // The newest entry stays: there is always one.
        while (entries_.size() > 1 && entries_.front().time < now - window)
            entries_.pop_front();
    }

    bool empty() const { return entries_.empty(); }
    Value best() const { return entries_.front().value; }

  private:
    struct Entry {
        Time time;
        Value value;
    };
    std::deque<Entry> entries_; // each later one is worse
};

} // namespace kuijia::packet
