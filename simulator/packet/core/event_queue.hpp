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

struct Event {
    Time time;
    Source source;
};

inline constexpr Event no_event{never, no_source};

// The order of events. Those of one moment come in an order drawn from the seed, so that no flow or port is favoured by
// its number; sources below `first_shuffled` come first.
class EventOrder {
  public:
    EventOrder(std::uint64_t seed, Source first_shuffled) : seed_(mixed(seed)), first_shuffled_(first_shuffled) {}

    bool operator()(const Event &one, const Event &other) const {
        return one.time < other.time || (one.time == other.time && rank(one) < rank(other));
    }

    // Numbers in the same order, for many comparisons: a time and a rank, of which the lower half is the source.
    using Key = unsigned __int128;
    Key key(const Event &event) const { return static_cast<Key>(event.time) << 64 | rank(event); }
    static Event event_of(Key key) { return {static_cast<Time>(key >> 64), static_cast<Source>(key)}; }

  private:
    std::uint64_t rank(const Event &event) const {
        if (event.source < first_shuffled_)
            return event.source;
        const auto drawn = mixed(static_cast<std::uint64_t>(event.time) ^ seed_ ^ (std::uint64_t{event.source} << 40));
        return ((drawn | 1ULL << 63) & ~0xffffffffULL) | event.source;
    }

    std::uint64_t seed_;
    Source first_shuffled_;
};

// A binary heap; `no_event` is first if there is no other.
class EventHeap {
  public:
    const Event &first() const { return events_.front(); }

    void push(const Event &event, const EventOrder &before) {
        auto place = events_.size();
        for (events_.push_back(event); place > 0;) {
            const auto parent = (place - 1) / 2;
            if (!before(event, events_[parent]))
                break;
            events_[place] = events_[parent];
            place = parent;
        }
        events_[place] = event;
    }

    void pop(const EventOrder &before) {
        const auto event = events_.back();
        events_.pop_back();
        const auto size = events_.size();
        std::size_t place = 0;
        for (auto child = std::size_t{1}; child < size; child = 2 * place + 1) {
            child += child + 1 < size && before(events_[child + 1], events_[child]);
            if (!before(events_[child], event))
                break;
            events_[place] = events_[child];
            place = child;
        }
        events_[place] = event;
    }

  private:
    std::vector<Event> events_{no_event};
};

// Up to seven events without an order; `no_event` in the other places.
struct alignas(64) EventBlock {
    static constexpr std::size_t most = 7;

    std::array<Event, most> events;
    std::uint32_t next;
    std::uint32_t count;

    // Writes all places in order of time. The processor need not foresee anything: each event's place is the number of
    // those before it.
    void order(Event *ordered) const {
        std::array<std::uint32_t, most> place{};
#pragma GCC unroll 8
        for (std::size_t one = 1; one < most; ++one)
#pragma GCC unroll 8
            for (std::size_t other = 0; other < one; ++other) {
                const bool before = events[one].time < events[other].time;
                place[other] += before;
                place[one] += !before;
            }
        for (std::size_t one = 0; one < most; ++one)
            ordered[place[one]] = events[one];
    }
};

// Lists of events without an order, in blocks that lists share.
class EventLists {
  public:
    static constexpr std::uint32_t none = 0xffffffff;

    explicit EventLists(std::size_t lists) : heads_(lists, none) {}

    bool empty(std::size_t list) const { return heads_[list] == none; }

    void add(std::size_t list, const Event &event) {
        auto id = heads_[list];
        if (id == none || blocks_[id].count == EventBlock::most) {
            if (free_ == none) {
                free_ = static_cast<std::uint32_t>(blocks_.size());
                blocks_.emplace_back().next = none;
            }
            id = free_;
            auto &block = blocks_[id];
            free_ = block.next;
            block.next = heads_[list];
            block.count = 0;
            block.events.fill(no_event);
            heads_[list] = id;
        }
        auto &block = blocks_[id];
        block.events[block.count++] = event;
    }

    // Takes the first block of a list; it stays as it is until events are added.
    const EventBlock &take_block(std::size_t list) {
        const auto id = heads_[list];
        auto &block = blocks_[id];
        heads_[list] = std::exchange(block.next, free_);
        free_ = id;
        return block;
    }

  private:
    std::vector<std::uint32_t> heads_;
    std::vector<EventBlock> blocks_;
    std::uint32_t free_ = none;
};

// A calendar: events of the near future lie in slots of equal length. Those of the first slots are a list in order, so
// that it is known what happens next; a heap has those beyond the last slot.
class EventQueue {
  public:
    EventQueue(std::uint64_t seed, Source first_shuffled) : before_(seed, first_shuffled) {}

    // Returns the time of the first event, `never` if there is none.
    Time next_time() {
        if (last_ - first_ < least_in_list_ && first_slot_ != no_slot)
            open_slot();
        return std::min(list_[first_].time, heap_.first().time);
    }

    // Returns the first event; `next_time` has been asked.
    const Event &first() const { return before_(heap_.first(), list_[first_]) ? heap_.first() : list_[first_]; }

    // Removes the first event and returns its source; likewise.
    Source take() {
        if (before_(heap_.first(), list_[first_])) {
            const auto event = heap_.first();
            slot_ = std::max(slot_, slot_of(event.time) - 1);
            heap_.pop(before_);
            return event.source;
        }
        return list_[first_++].source;
    }

    // Returns the source of the event that comes so many after the first of the list, `no_source` if it is not known.
    Source ahead(std::size_t events) const { return list_[std::min(first_ + events, last_)].source; }

    void push(Time time, Source source) {
        const auto slot = slot_of(time);
        if (slot > slot_ && slot < slot_ + slots) {
            slots_.add(slot % slots, {time, source});
            ++in_slots_;
            first_slot_ = std::min(first_slot_, slot);
        } else {
            insert({time, source}, slot);
        }
    }

    static constexpr std::size_t most_ahead = 16; // events that are known in a run with many

  private:
    static constexpr std::int64_t slots = 1 << 14;
    static constexpr std::int64_t no_slot = never;
    static constexpr std::size_t longest_list = 64; // that an event is inserted into
    static constexpr std::size_t usual_events = 3;  // of a slot; the length changes below half and above twice as many
    static constexpr std::size_t period = 4096;     // events between two looks at their number, at least
    static constexpr int longest_slot = 50;         // as a power of two of picoseconds

    std::int64_t slot_of(Time time) const { return time >> length_; }

    // Puts an event that belongs to no slot into the list or the heap.
    void insert(const Event &event, std::int64_t slot) {
        if (slot > slot_ || last_ - first_ >= longest_list)
            return heap_.push(event, before_);
        make_room(1);
        auto place = last_++;
        for (list_[last_] = no_event; place > first_ && before_(event, list_[place - 1]); --place)
            list_[place] = list_[place - 1];
        list_[place] = event;
    }

    // Makes room at the end of the list for so many events, and `no_event`; there was room for it.
    void make_room(std::size_t events) {
        if (last_ + events < list_.size())
            return;
        std::copy(list_.begin() + static_cast<std::ptrdiff_t>(first_),
                  list_.begin() + static_cast<std::ptrdiff_t>(last_ + 1), list_.begin());
        last_ -= std::exchange(first_, 0);
        if (2 * (last_ + events) >= list_.size())
            list_.resize(4 * (last_ + events));
    }

    // Adds the first slot with events to the end of the list.
    void open_slot() {
        passed_ += first_slot_ - slot_;
        slot_ = first_slot_;
        const auto list = static_cast<std::size_t>(slot_ % slots);
        make_room(EventBlock::most);
        const auto known = last_;
        const auto &block = slots_.take_block(list);
        block.order(&list_[known]); // ends with `no_event`, or has all places
        last_ += block.count;
        std::size_t opened = block.count;
        if (!slots_.empty(list))
            opened = order_crowd(list, opened);
        else
            for (auto place = known + 1; place < last_; ++place)
                if (list_[place].time == list_[place - 1].time)
                    order_together(known, place);
        list_[last_] = no_event;
        in_slots_ -= opened;
        opened_ += opened;
        first_slot_ = no_slot;
        if (in_slots_ > 0)
            for (first_slot_ = slot_ + 1; slots_.empty(first_slot_ % slots);)
                ++first_slot_;
        if (opened_ >= std::max(period, 4 * in_slots_))
            adapt();
    }

    // Moves an event before those of the same moment, as far as the one at `known`, that come after it.
    void order_together(std::size_t known, std::size_t place) {
        for (; place > known && before_(list_[place], list_[place - 1]); --place)
            std::swap(list_[place], list_[place - 1]);
    }

    // Adds the other blocks of a slot to its `count` events at the end of the list, and orders all. Returns their
    // number.
    std::size_t order_crowd(std::size_t list, std::size_t count) {
        while (!slots_.empty(list)) {
            make_room(EventBlock::most);
            const auto &block = slots_.take_block(list);
            std::copy_n(block.events.begin(), block.count, list_.begin() + static_cast<std::ptrdiff_t>(last_));
            last_ += block.count;
            count += block.count;
        }
        const auto crowd = list_.end() - static_cast<std::ptrdiff_t>(list_.size() - last_ + count);
        keys_.resize(count);
        std::transform(crowd, crowd + static_cast<std::ptrdiff_t>(count), keys_.begin(),
                       [&](const Event &event) { return before_.key(event); });
        std::sort(keys_.begin(), keys_.end());
        std::transform(keys_.begin(), keys_.end(), crowd, EventOrder::event_of);
        return count;
    }

    // Makes slots shorter or longer if they have too many or too few events.
    void adapt() {
        least_in_list_ = std::clamp<std::size_t>(in_slots_ / 64, 1, most_ahead + 4);
        const auto opened = std::exchange(opened_, 0);
        const auto usual = usual_events * std::exchange(passed_, 0);
        const bool crowded = opened > usual;
        const auto change = static_cast<int>(std::bit_width(crowded ? opened / usual : usual / opened)) - 1;
        const auto length = std::clamp(crowded ? length_ - change : length_ + change, 0, longest_slot);
        if (length == length_)
            return;
        std::vector<Event> events;
        for (auto slot = first_slot_; events.size() < in_slots_; ++slot)
            while (!slots_.empty(slot % slots)) {
                const auto &block = slots_.take_block(slot % slots);
                events.insert(events.end(), block.events.begin(), block.events.begin() + block.count);
            }
        length_ = length;
        slot_ = slot_of(list_[last_ - 1].time);
        first_slot_ = no_slot;
        in_slots_ = 0;
        for (const auto &event : events)
            push(event.time, event.source);
    }

    EventOrder before_;
    std::vector<Event> list_{no_event};
    std::size_t first_ = 0;         // place in the list of its first event
    std::size_t last_ = 0;          // place after the last one, where `no_event` is
    std::size_t least_in_list_ = 1; // if there are fewer, another slot is added
    EventLists slots_{slots};
    std::vector<EventOrder::Key> keys_; // of a crowd that is put into order
    std::int64_t slot_ = -1;            // the last one in the list
    std::int64_t first_slot_ = no_slot; // the first after it with events
    std::size_t in_slots_ = 0;          // events
    std::size_t opened_ = 0;            // events that have come from slots to the list since the last look
    std::size_t passed_ = 0;            // slots, since then
    int length_ = 17;                   // of a slot, as a power of two of picoseconds
    EventHeap heap_;
};

} // namespace kuijia::packet
