// The packets that wait at a port with a single queue: when each of them begins to be sent, and its size.
#pragma once

#include "compiler.hpp"
#include "units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kuijia::packet {

struct Departure {
    Time begins;
    std::uint32_t size;
};

// A first-in, first-out queue in a ring, apart from the packets: to count those that have left touches none of them.
class Departures {
  public:
    bool empty() const { return first_ == last_; }
    std::uint32_t count() const { return last_ - first_; }
    const Departure &first() const { return ring_[first_ & mask_]; }

    // Brings nearer what the next packet touches that comes.
    void fetch_ends() const {
        fetch(ring_.get() + (first_ & mask_));
        fetch(ring_.get() + (last_ & mask_));
    }

    void add(const Departure &departure) {
        if (count() == room_) [[unlikely]]
            grow();
        ring_[last_++ & mask_] = departure;
    }

    void drop_first() { ++first_; }
    void clear() { first_ = last_; }

    template <typename Function> void for_each(const Function &function) const {
        for (auto place = first_; place != last_; ++place)
            function(ring_[place & mask_]);
    }

  private:
    static constexpr std::uint32_t first_room = 16;

    KUIJIA_NEVER_INLINE void grow() {
        const auto room = room_ == 0 ? first_room : 2 * room_;
        auto larger = std::make_unique_for_overwrite<Departure[]>(room);
        for (std::uint32_t place = 0; place < room_; ++place)
            larger[place] = ring_[(first_ + place) & mask_];
        ring_ = std::move(larger);
        last_ = count();
        first_ = 0;
        room_ = room;
        mask_ = room - 1;
    }

    std::unique_ptr<Departure[]> ring_;
    std::uint32_t first_ = 0; // counted on and on; the place in the ring is what `mask_` leaves
    std::uint32_t last_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t room_ = 0;
};

} // namespace kuijia::packet
