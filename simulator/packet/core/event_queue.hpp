// The queue of events: moments, each with the source of its event.
#pragma once

#include "random.hpp"
#include "units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace kuijia::packet {

using Source = std::uint32_t;
inline constexpr Source no_source = 0xffffffff;

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

inline const Event no_event{never, no_source};

// A binary heap that selects the lesser child without a branch; `no_event` is first if there is no other.
class EventHeap {
  public:
    const Event &first() const { return events_.front(); }

    void push(const Event &event) {
        auto place = events_.size();
        events_.push_back({});
        while (place > 0) {
            const auto parent = (place - 1) / 2;
            if (!(event < events_[parent]))
                break;
            events_[place] = events_[parent];
            place = parent;
        }
        events_[place] = event;
    }

    void pop() {
        const auto event = events_.back();
        events_.pop_back();
        const auto size = events_.size();
        std::size_t place = 0;
        for (auto child = std::size_t{1}; child < size; child = 2 * place + 1) {
            child += child + 1 < size && events_[child + 1] < events_[child];
            if (!(events_[child] < event))
                break;
            events_[place] = events_[child];
            place = child;
        }
        events_[place] = event;
    }

  private:
    std::vector<Event> events_{no_event};
};

// Lists of events without an order, in blocks that lists share.
class EventLists {
  public:
    explicit EventLists(std::size_t lists) : heads_(lists, none) {}

    bool empty(std::size_t list) const { return heads_[list] == none; }

    void add(std::size_t list, const Event &event) {
        auto id = heads_[list];
        if (id == none || blocks_[id].count == most) {
            if (free_ == none) {
                free_ = static_cast<std::uint32_t>(blocks_.size());
                blocks_.emplace_back();
            }
            id = free_;
            free_ = blocks_[id].next;
            blocks_[id].next = heads_[list];
            blocks_[id].count = 0;
            heads_[list] = id;
        }
        auto &block = blocks_[id];
        block.events[block.count++] = event;
    }

    // Moves the events of a list to the end of `events`.
    void take(std::size_t list, std::vector<Event> &events) {
        for (auto id = std::exchange(heads_[list], none); id != none;) {
            auto &block = blocks_[id];
            events.insert(events.end(), block.events.begin(), block.events.begin() + block.count);
            const auto next = std::exchange(block.next, free_);
            free_ = id;
            id = next;
        }
    }

  private:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::size_t most = 7;

    struct alignas(64) Block {
        std::array<Event, most> events;
        std::uint32_t next = none;
        std::uint32_t count = 0;
    };

    std::vector<std::uint32_t> heads_;
    std::vector<Block> blocks_;
    std::uint32_t free_ = none;
};

// A calendar: events of the near future lie in slots of equal length, those of the current slot in order. A heap has the
// others: those beyond the last slot, and those that came when their slot was already the current one.
//
// Events of one moment come in an order drawn from the seed, so that no flow or port is favoured by its number; sources
// below `first_shuffled` come first.
class EventQueue {
  public:
    EventQueue(std::uint64_t seed, Source first_shuffled) : seed_(mixed(seed)), first_shuffled_(first_shuffled) {}

    // Returns the first event, `no_event` if there is none.
    const Event &next() {
        if (current_[place_].source() == no_source && first_slot_ <= slot_of(heap_.first()))
            open_slot();
        return std::min(current_[place_], heap_.first());
    }

    // Returns the source of an event that comes soon after the first, if it is known, else `no_source`.
    Source ahead(std::size_t events) const { return current_[place_ + events].source(); }

    void pop() {
        if (current_[place_] < heap_.first()) {
            ++place_;
        } else {
            slot_ = std::max(slot_, slot_of(heap_.first()) - 1);
            heap_.pop();
        }
    }

    void push(Time time, Source source) {
        const auto drawn = mixed(static_cast<std::uint64_t>(time) ^ seed_ ^ (std::uint64_t{source} << 40)) | 1ULL << 63;
        insert({time, (source < first_shuffled_ ? 0 : drawn & ~0xffffffffULL) | source});
    }

    static constexpr std::size_t most_ahead = 8;

  private:
    static constexpr std::int64_t slots = 8192;
    static constexpr std::int64_t no_slot = never;
    static constexpr std::uint64_t least_events = 4; // of a slot on average
    static constexpr std::uint64_t usual_events = 8;
    static constexpr std::uint64_t most_events = 16;
    static constexpr std::size_t period = 4096; // events between two looks at the average, at least
    static constexpr unsigned longest_slot = 50; // as a power of two

    std::int64_t slot_of(const Event &event) const { return event.time() >> length_; }

    void insert(const Event &event) {
        const auto slot = slot_of(event);
        if (slot <= slot_ || slot >= slot_ + slots)
            return heap_.push(event);
        lists_.add(slot % slots, event);
        ++in_slots_;
        first_slot_ = std::min(first_slot_, slot);
    }

    // Makes the first slot with events the current one.
    void open_slot() {
        passed_ += first_slot_ - slot_;
        slot_ = first_slot_;
        current_.clear();
        place_ = 0;
        lists_.take(slot_ % slots, current_);
        const auto count = current_.size();
        std::sort(current_.begin(), current_.end());
        current_.insert(current_.end(), most_ahead + 1, no_event);
        in_slots_ -= count;
        opened_ += count;
        find_first_slot();
        if (opened_ >= std::max(period, 4 * in_slots_))
            adapt();
    }

    void find_first_slot() {
        first_slot_ = no_slot;
        if (in_slots_ > 0)
            for (first_slot_ = slot_ + 1; lists_.empty(first_slot_ % slots);)
                ++first_slot_;
    }

    // Makes slots shorter or longer if they have too many or too few events.
    void adapt() {
        const auto opened = static_cast<std::uint64_t>(std::exchange(opened_, 0));
        const auto passed = static_cast<std::uint64_t>(std::exchange(passed_, 0));
        unsigned length = length_;
        if (opened > most_events * passed)
            length -= std::min<unsigned>(length, std::bit_width(opened / (usual_events * passed)) - 1);
        else if (opened < least_events * passed)
            length = std::min<unsigned>(longest_slot, length + std::bit_width(usual_events * passed / opened) - 1);
        if (length == length_)
            return;
        std::vector<Event> events;
        for (auto slot = first_slot_; events.size() < in_slots_; ++slot)
            lists_.take(slot % slots, events);
        length_ = length;
        slot_ = slot_of(current_[current_.size() - most_ahead - 2]);
        first_slot_ = no_slot;
        in_slots_ = 0;
        for (const auto &event : events)
            insert(event);
    }

    std::uint64_t seed_;
    Source first_shuffled_;
    unsigned length_ = 17; // of a slot: a power of two of picoseconds
    std::int64_t slot_ = -1;               // the current one
    std::int64_t first_slot_ = no_slot;    // the first after it with events
    std::size_t in_slots_ = 0;            // events
    std::size_t opened_ = 0; // events of slots that have become the current one, since the last look
    std::int64_t passed_ = 0; // slots, since then
    std::vector<Event> current_ = std::vector<Event>(most_ahead + 1, no_event);
    std::size_t place_ = 0; // of the first event in `current_`
    EventLists lists_{slots};
    EventHeap heap_;
};

} // namespace kuijia::packet
