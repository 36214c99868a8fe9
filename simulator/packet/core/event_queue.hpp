// The queue of events: a heap of moments, each with the source of its event.
#pragma once

#include "random.hpp"
#include "units.hpp"

#include <cstddef>
#include <vector>

namespace kuijia::packet {

using Source = std::uint32_t;

// A moment and a rank among the events of that moment, as one number for a single comparison. The rank's lower half is
// the source.
class Event {
  public:
    Event() = default;
    Event(Time time, std::uint64_t rank) : key_(static_cast<Key>(time) << 64 | rank) {}

    Time time() const { return static_cast<Time>(key_ >> 64); }
    Source source() const { return static_cast<Source>(key_); }
    bool operator<(const Event &other) const { return key_ < other.key_; }

  private:
    using Key = unsigned __int128;
    Key key_ = 0;
};

// A binary heap that selects the lesser child without a branch; docs/packet_model.md compares it with other heaps and a
// calendar queue. It stays small, since a link has one event in it however many packets it carries.
//
// Events of one moment come in an order drawn from the seed, so that no flow or port is favoured by its number; sources
// below `first_shuffled` come first.
class EventQueue {
  public:
    EventQueue(std::uint64_t seed, Source first_shuffled) : seed_(mixed(seed)), first_shuffled_(first_shuffled) {}

    bool empty() const { return heap_.empty(); }
    std::size_t size() const { return heap_.size(); }
    const Event &next() const { return heap_.front(); }

    void push(Time time, Source source) {
        heap_.push_back({});
        rise(heap_.size() - 1, made(time, source));
    }

    void pop() {
        const auto last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty())
            sink(last);
    }

    // Does `pop` and `push` in one step.
    void replace(Time time, Source source) { sink(made(time, source)); }

  private:
    Event made(Time time, Source source) const {
        const auto drawn = mixed(static_cast<std::uint64_t>(time) ^ seed_ ^ (std::uint64_t{source} << 40)) | 1ULL << 63;
        return {time, (source < first_shuffled_ ? 0 : drawn & ~0xffffffffULL) | source};
    }

    void rise(std::size_t place, const Event &event) {
        while (place > 0) {
            const auto parent = (place - 1) / 2;
            if (!(event < heap_[parent]))
                break;
            heap_[place] = heap_[parent];
            place = parent;
        }
        heap_[place] = event;
    }

    void sink(const Event &event) {
        const auto size = heap_.size();
        std::size_t place = 0;
        for (auto child = std::size_t{1}; child < size; child = 2 * place + 1) {
            child += child + 1 < size && heap_[child + 1] < heap_[child];
            if (!(heap_[child] < event))
                break;
            heap_[place] = heap_[child];
            place = child;
        }
        heap_[place] = event;
    }

    std::vector<Event> heap_;
    std::uint64_t seed_;
    Source first_shuffled_;
};

} // namespace kuijia::packet
