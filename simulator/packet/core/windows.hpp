// Windows of time in which what one switch does cannot reach another.
//
// Packets that come to a switch only meet others that leave it by the same link. So those that come within the least
// delay between two switches need no order but that of each link: the simulation passes them on port by port, without
// an event for each. The events of hosts, in which everything else happens, keep their order among themselves.
//
// This holds if switches choose nothing and draw no random numbers, each port is used either by a host's own packets or
// by those that pass through a switch, and each link leads some packets to their end or none. What changes links or
// looks at queues ends a window.
#pragma once

#include "hop_calendar.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace kuijia::packet {

// Puts hops into the order of their links, and those of one link into a given order.
class LinkOrder {
  public:
    explicit LinkOrder(std::size_t links) : last_(links, none), used_((links + 63) / 64, 0) {}

    void add(std::span<const Hop> hops) {
        if (count_ + hops.size() > added_.size()) [[unlikely]]
            grow(hops.size());
        auto *const added = added_.data();
        auto *const last = last_.data();
        auto *const used = used_.data();
        auto number = count_;
        for (const auto &hop : hops) {
            added[number] = {hop, std::exchange(last[hop.next], number)};
            used[hop.next / 64] |= std::uint64_t{1} << hop.next % 64;
            ++number;
        }
        count_ = number;
    }

    // Returns all that were added since the last time.
    template <typename Before> std::span<const Hop> take(const Before &before) {
        const auto count = std::exchange(count_, 0);
        const auto *const added = added_.data();
        auto *const last = last_.data();
        auto *place = ordered_.data() + count; // filled from the end, as each link's last hop comes first
        for (std::size_t word = 0; word < used_.size(); ++word)
            for (auto bits = std::exchange(used_[word], 0); bits != 0; bits &= bits - 1) {
                const auto link = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
                const auto *hop = &added[std::exchange(last[link], none)];
                *--place = hop->hop;
                if (hop->before == none)
                    continue;
                auto *const end = place + 1;
                for (; hop->before != none; *--place = hop->hop)
                    hop = &added[hop->before];
                sort(place, end, before);
            }
        return {ordered_.data(), count};
    }

  private:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::ptrdiff_t few = 16;

    struct Added {
        Hop hop;
        std::uint32_t before; // the one of the same link before it
    };

    template <typename Before> static void sort(Hop *begin, Hop *end, const Before &before) {
        if (end - begin > few)
            return std::sort(begin, end, before);
        for (auto *hop = begin + 1; hop != end; ++hop) {
            const auto moved = *hop;
            auto *place = hop;
            for (; place != begin && before(moved, place[-1]); --place)
                *place = place[-1];
            *place = moved;
        }
    }

    KUIJIA_NEVER_INLINE void grow(std::size_t hops) {
        added_.resize(2 * (added_.size() + hops));
        ordered_.resize(added_.size());
    }

    std::vector<Added> added_;
    std::uint32_t count_ = 0;
    std::vector<std::uint32_t> last_; // hop of each link
    std::vector<std::uint64_t> used_; // a bit for each link with a hop
    std::vector<Hop> ordered_;
};

struct Windows {
    Time delay; // the least between two switches
    HopCalendar calendar;
    LinkOrder order;
};

} // namespace kuijia::packet
