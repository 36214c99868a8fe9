// What happens next: a heap of moments, each of which belongs to one source of events.
#pragma once

#include "random.hpp"
#include "units.hpp"

#include <cstddef>
#include <vector>

namespace kuijia::packet {

using Source = std::uint32_t;

struct Event {
    Time time;
    // Among events of one moment those of smaller ranks come first; the source is its lower half.
    std::uint64_t rank;

    Source source() const { return static_cast<Source>(rank); }
    bool operator<(const Event &other) const {
        return time != other.time ? time < other.time : rank < other.rank;
    }
};

// A heap of four children per node: their 64 bytes are read together, and there are half as many levels as in a binary
// one. It stays small, since a link has one event in it however many packets are on it.
//
// Events of one moment come in an order drawn from the seed, except that sources below `first_shuffled` come first, so
// that no flow or port is favoured for its number.
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

    // The same as `pop` and `push`, in one.
    void replace(Time time, Source source) { sink(made(time, source)); }

  private:
    Event made(Time time, Source source) const {
        const auto drawn = mixed(static_cast<std::uint64_t>(time) ^ seed_ ^ (std::uint64_t{source} << 40)) | 1ULL << 63;
        return {time, (source < first_shuffled_ ? 0 : drawn & ~0xffffffffULL) | source};
    }

    void rise(std::size_t place, const Event &event) {
        while (place > 0) {
            const auto parent = (place - 1) / 4;
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
        for (auto child = std::size_t{1}; child < size; child = 4 * place + 1) {
            auto least = child;
            const auto end = child + 4 < size ? child + 4 : size;
            for (auto other = child + 1; other < end; ++other)
                least = heap_[other] < heap_[least] ? other : least;
            if (!(heap_[least] < event))
                break;
            heap_[place] = heap_[least];
            place = least;
        }
        heap_[place] = event;
    }

    std::vector<Event> heap_;
    std::uint64_t seed_;
    Source first_shuffled_;
};

} // namespace kuijia::packet
