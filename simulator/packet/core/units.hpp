// Exact time: whole picoseconds, in which a byte at 10 Gbit/s takes 800.
#pragma once

#include <cstdint>
#include <limits>

namespace kuijia::packet {

using Time = std::int64_t;
inline constexpr Time never = std::numeric_limits<Time>::max();
inline constexpr Time second = 1'000'000'000'000;

// Bounds that keep sums of times from overflowing. The longest time is 26 days.
inline constexpr Time longest = never / 4;
inline constexpr std::uint32_t largest_packet = 1 << 20;
inline constexpr std::int64_t largest_queue = 1 << 30;
inline constexpr std::int64_t slowest = 10'000;            // bit/s
inline constexpr std::int64_t fastest = 1'000'000'000'000; // bit/s: a byte takes 8 ps

inline double seconds(Time time) { return static_cast<double>(time) * 1e-12; }

class Rate {
  public:
    Rate() = default;
    explicit Rate(std::int64_t bits_per_second)
        : bits_per_second_(bits_per_second),
          picoseconds_per_byte_(8 * second % bits_per_second == 0 ? 8 * second / bits_per_second : 0) {}

    // Returns the time of `bytes`, at most `largest_packet`, rounded up if a byte does not take whole picoseconds.
    Time of(std::uint32_t bytes) const {
        if (picoseconds_per_byte_ != 0)
            return bytes * picoseconds_per_byte_;
        return (static_cast<Time>(bytes) * (8 * second) + bits_per_second_ - 1) / bits_per_second_;
    }

  private:
    std::int64_t bits_per_second_ = 1;
    Time picoseconds_per_byte_ = 8 * second;
};

} // namespace kuijia::packet
