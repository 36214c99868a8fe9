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

// A calendar: events of the near future lie in slots of equal length. Those of the first slots are a list in order, so
// that it is known what happens next; a heap has those beyond the last slot.
//
// Events of one moment come in an order drawn from the seed, so that no flow or port is favoured by its number; sources
// below `first_shuffled` come first.
class EventQueue {
  public:
    EventQueue(std::uint64_t seed, Source first_shuffled) : seed_(mixed(seed)), first_shuffled_(first_shuffled) {}

    // Returns the first event, `no_event` if there is none.
    const Event &next() {
        if (list_.size() - first_ <= least_in_list_ && first_slot_ != no_slot)
            open_slot();
        return std::min(list_[first_], heap_.first());
    }

    // Returns the source of the event that comes so many after the first of the list, `no_source` if it is not known.
    Source ahead(std::size_t events) const { return list_[std::min(first_ + events, list_.size() - 1)].source(); }

    // Removes the event that `next` has returned.
    void pop() {
        if (list_[first_] < heap_.first()) {
            ++first_;
        } else {
            slot_ = std::max(slot_, slot_of(heap_.first()) - 1);
            heap_.pop();
        }
    }

    void push(Time time, Source source) {
        const auto drawn = mixed(static_cast<std::uint64_t>(time) ^ seed_ ^ (std::uint64_t{source} << 40)) | 1ULL << 63;
        insert({time, (source < first_shuffled_ ? 0 : drawn & ~0xffffffffULL) | source});
    }

    static constexpr std::size_t most_ahead = 16; // events that are known in a run with many

  private:
    static constexpr std::int64_t slots = 1 << 14;
    static constexpr std::int64_t no_slot = never;
    static constexpr std::size_t longest_list = 64; // that an event is inserted into
    static constexpr std::size_t usual_events = 6;  // of a slot; the length changes below half and above twice as many
    static constexpr std::size_t period = 4096;     // events between two looks at their number, at least
    static constexpr int longest_slot = 50;         // as a power of two of picoseconds

    std::int64_t slot_of(const Event &event) const { return event.time() >> length_; }

    void insert(const Event &event) {
        const auto slot = slot_of(event);
        if (slot > slot_ && slot < slot_ + slots) {
            slots_.add(slot % slots, event);
            ++in_slots_;
            first_slot_ = std::min(first_slot_, slot);
        } else if (slot <= slot_ && list_.size() - first_ < longest_list) {
            if (first_ > longest_list)
                forget_past();
            auto place = list_.size();
            for (list_.push_back(no_event); place > first_ && event < list_[place - 1]; --place)
                list_[place] = list_[place - 1];
            list_[place] = event;
        } else {
            heap_.push(event);
        }
    }

    void forget_past() {
        list_.erase(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(std::exchange(first_, 0)));
    }

    // Sorts; few events by counting how many come before each, without a branch that depends on them.
    static void order(std::vector<Event>::iterator begin, std::vector<Event>::iterator end) {
        std::array<Event, 16> events{};
        const auto count = end - begin;
        if (count > static_cast<std::ptrdiff_t>(events.size()))
            return std::sort(begin, end);
        std::copy(begin, end, events.begin());
        for (std::ptrdiff_t one = 0; one < count; ++one) {
            std::ptrdiff_t place = 0;
            for (std::ptrdiff_t other = 0; other < one; ++other)
                place += !(events[one] < events[other]);
            for (std::ptrdiff_t other = one + 1; other < count; ++other)
                place += events[other] < events[one];
            begin[place] = events[one];
        }
    }

    // Adds the first slot with events to the end of the list.
    void open_slot() {
        passed_ += first_slot_ - slot_;
        slot_ = first_slot_;
        list_.pop_back();
        forget_past();
        const auto known = static_cast<std::ptrdiff_t>(list_.size());
        slots_.take(slot_ % slots, list_);
        order(list_.begin() + known, list_.end());
        const auto opened = list_.size() - known;
        list_.push_back(no_event);
        in_slots_ -= opened;
        opened_ += opened;
        least_in_list_ = std::clamp<std::size_t>(in_slots_ / 64, 1, most_ahead + 4);
        first_slot_ = no_slot;
        if (in_slots_ > 0)
            for (first_slot_ = slot_ + 1; slots_.empty(first_slot_ % slots);)
                ++first_slot_;
        if (opened_ >= std::max(period, 4 * in_slots_))
            adapt();
    }

    // Makes slots shorter or longer if they have too many or too few events.
    void adapt() {
        const auto opened = std::exchange(opened_, 0);
        const auto usual = usual_events * std::exchange(passed_, 0);
        const bool crowded = opened > usual;
        const auto change = static_cast<int>(std::bit_width(crowded ? opened / usual : usual / opened)) - 1;
        const auto length = std::clamp(crowded ? length_ - change : length_ + change, 0, longest_slot);
        if (length == length_)
            return;
        std::vector<Event> events;
        for (auto slot = first_slot_; events.size() < in_slots_; ++slot)
            slots_.take(slot % slots, events);
        length_ = length;
        slot_ = slot_of(list_[list_.size() - 2]);
        first_slot_ = no_slot;
        in_slots_ = 0;
        for (const auto &event : events)
            insert(event);
    }

    std::uint64_t seed_;
    Source first_shuffled_;
    std::vector<Event> list_{no_event};
    std::size_t first_ = 0;         // place in the list of its first event
    std::size_t least_in_list_ = 1; // with `no_event`: if there are fewer, another slot is added
    EventLists slots_{slots};
    std::int64_t slot_ = -1;            // the last one in the list
    std::int64_t first_slot_ = no_slot; // the first after it with events
    std::size_t in_slots_ = 0;          // events
    std::size_t opened_ = 0;            // events that have come from slots to the list since the last look
    std::size_t passed_ = 0;            // slots, since then
    int length_ = 17;                   // of a slot, as a power of two of picoseconds
    EventHeap heap_;
};

} // namespace kuijia::packet
