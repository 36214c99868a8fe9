// The packets on their way to switches, by the time at which they arrive.
#pragma once

#include "compiler.hpp"
#include "packets.hpp"
#include "units.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace kuijia::packet {

// The arrival of a packet at a switch, and the link by which the packet goes on.
struct Hop {
    Time at;
    PacketId packet;
    std::uint32_t next;
};

// Some of 2^14 places in a circle.
class Circle {
  public:
    static constexpr std::uint32_t size = 1 << 14;
    static constexpr std::uint32_t none = 0xffffffff;

    void set(std::uint32_t place) {
        words_[place / 64] |= bit(place);
        filled_[place / 4096] |= bit(place / 64);
    }
    void clear(std::uint32_t place) {
        if ((words_[place / 64] &= ~bit(place)) == 0)
            filled_[place / 4096] &= ~bit(place / 64);
    }

    // Returns the first place that is set, in the order that begins with `from`; `none` if there is none.
    std::uint32_t first(std::uint32_t from) const {
        const auto word = from / 64;
        if (const auto rest = words_[word] >> from % 64; rest != 0)
            return from + static_cast<std::uint32_t>(std::countr_zero(rest));
        if (const auto rest = filled_[word / 64] & ~std::uint64_t{1} << word % 64; rest != 0)
            return in_group(word / 64, rest);
        for (std::uint32_t further = 1; further <= filled_.size(); ++further) {
            const auto group = (word / 64 + further) % static_cast<std::uint32_t>(filled_.size());
            if (filled_[group] != 0)
                return in_group(group, filled_[group]);
        }
        return none;
    }

  private:
    static std::uint64_t bit(std::uint32_t place) { return std::uint64_t{1} << place % 64; }

    // Returns the first place in the first of some words of a group that are not zero.
    std::uint32_t in_group(std::uint32_t group, std::uint64_t words) const {
        const auto word = group * 64 + static_cast<std::uint32_t>(std::countr_zero(words));
        return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
    }

    std::array<std::uint64_t, size / 64> words_{};
    std::array<std::uint64_t, size / 4096> filled_{}; // words that are not zero
};

// Hops lie in slots of equal length, without an order; a heap has those beyond the last slot.
class HopCalendar {
  public:
    static constexpr Time shortest = 1 << 16; // that a window may be

    // Hops are taken by windows, which are at most so long: two or three slots.
    explicit HopCalendar(Time longest_window)
        : length_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(longest_window))) - 2),
          window_(longest_window >> length_) {
        ends_.fill(none);
    }

    // Returns the time of the first hop, `never` if there is none.
    Time next_time() const {
        const auto slot = first_slot();
        if (slot == never)
            return far_.empty() ? never : far_.front().at;
        Time first = never;
        in_slot(place_of(slot), [&](auto hops) {
            for (const auto &hop : hops)
                first = std::min(first, hop.at);
        });
        return first;
    }

    // Returns when the window ends that begins with the slot of a time.
    Time window_end(Time from) const { return ((from >> length_) + window_) << length_; }

    // Adds a hop that is not before the end of those that were taken.
    KUIJIA_ALWAYS_INLINE void add(const Hop &hop) {
        const auto slot = hop.at >> length_;
        if (slot - base_ < Circle::size) [[likely]]
            return put(hop, place_of(slot));
        add_far(hop);
    }

    // Passes all hops before `end` to `taker`, some at a time and in no order.
    template <typename Taker> void take(Time end, const Taker &taker) {
        const auto end_slot = end >> length_;
        for (auto slot = first_slot(); slot < end_slot; slot = first_slot()) {
            take_slot(place_of(slot), taker);
            base_ = slot;
        }
        const bool cut = end % (Time{1} << length_) != 0 && first_slot() == end_slot;
        base_ = std::max(base_, end_slot);
        std::vector<Hop> others; // which may be later
        if (cut)
            take_slot(place_of(end_slot), [&](auto hops) { others.insert(others.end(), hops.begin(), hops.end()); });
        for (; !far_.empty() && (far_.front().at >> length_) - base_ < Circle::size; far_.pop_back()) {
            std::pop_heap(far_.begin(), far_.end(), is_later);
            others.push_back(far_.back());
        }
        const auto later = std::partition(others.begin(), others.end(), [&](const Hop &hop) { return hop.at < end; });
        taker(std::span(others.begin(), later));
        std::for_each(later, others.end(), [&](const Hop &hop) { put(hop, place_of(hop.at >> length_)); });
    }

    // Removes the hops for which a condition holds.
    template <typename Condition> void remove_if(const Condition &condition) {
        std::vector<Hop> kept;
        for (std::uint32_t place = 0; place < Circle::size; ++place) {
            if (ends_[place] == none)
                continue;
            kept.clear();
            take_slot(place,
                      [&](auto hops) { std::ranges::remove_copy_if(hops, std::back_inserter(kept), condition); });
            for (const auto &hop : kept)
                put(hop, place);
        }
        std::erase_if(far_, condition);
        std::make_heap(far_.begin(), far_.end(), is_later);
    }

    template <typename Function> void for_each(const Function &function) const {
        for (std::uint32_t place = 0; place < Circle::size; ++place)
            in_slot(place, [&](auto hops) { std::ranges::for_each(hops, function); });
        std::for_each(far_.begin(), far_.end(), function);
    }

  private:
    // Hops lie in blocks of eight places: seven of one slot, and one that says which block follows.
    static constexpr std::uint32_t in_block = 8;
    static constexpr std::uint32_t last = in_block - 1;
    static constexpr std::uint32_t none = 0xffffffff; // no block, and its last place

    static bool is_later(const Hop &one, const Hop &other) { return one.at > other.at; }
    static std::uint32_t place_of(Time slot) { return static_cast<std::uint32_t>(slot) % Circle::size; }

    // Returns the first slot with a hop, `never` if there is none.
    Time first_slot() const {
        const auto place = occupied_.first(place_of(base_));
        return place == Circle::none ? never : base_ + (place - place_of(base_)) % Circle::size;
    }

    // The place after the newest hop of a slot is known, and with it its block.
    std::uint32_t &following(std::uint32_t place) { return hops_[place | last].next; }

    template <typename Function>
    KUIJIA_ALWAYS_INLINE void in_slot(std::uint32_t place, const Function &function) const {
        for (auto end = ends_[place]; end != none; end = hops_[end | last].next)
            function(std::span(&hops_[end / in_block * in_block], end % in_block));
    }

    KUIJIA_ALWAYS_INLINE void put(const Hop &hop, std::uint32_t place) {
        if (ends_[place] % in_block == last)
            add_block(place);
        auto &empty = hops_[ends_[place]++];
        empty.at = hop.at; // one by one: a copy in one piece would wait until the parts of `hop` are in memory
        empty.packet = hop.packet;
        empty.next = hop.next;
    }

    KUIJIA_NEVER_INLINE void add_block(std::uint32_t place) {
        if (free_ == none) {
            free_ = static_cast<std::uint32_t>(hops_.size());
            hops_.resize(hops_.size() + in_block);
            following(free_) = none;
        }
        const auto next = std::exchange(following(free_), ends_[place]);
        ends_[place] = std::exchange(free_, next);
        occupied_.set(place);
    }

    template <typename Taker> KUIJIA_ALWAYS_INLINE void take_slot(std::uint32_t place, const Taker &taker) {
        in_slot(place, taker);
        for (auto end = std::exchange(ends_[place], none); end != none;) {
            const auto next = std::exchange(following(end), free_);
            free_ = end / in_block * in_block;
            end = next;
        }
        occupied_.clear(place);
    }

    KUIJIA_NEVER_INLINE void add_far(const Hop &hop) {
        far_.push_back(hop);
        std::push_heap(far_.begin(), far_.end(), is_later);
    }

    int length_;    // of a slot, as a power of two of picoseconds
    Time window_;   // slots
    Time base_ = 0; // the first slot
    Circle occupied_;
    std::array<std::uint32_t, Circle::size> ends_; // of the newest blocks of slots, where the next hop comes
    std::vector<Hop> hops_;
    std::uint32_t free_ = none; // block
    std::vector<Hop> far_;      // a heap, the first on top
};

} // namespace kuijia::packet
