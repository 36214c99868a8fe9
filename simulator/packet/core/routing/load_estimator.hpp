// The discounting rate estimator of a link (Alizadeh et al., CONGA, SIGCOMM 2014, section 3.2): bytes are added as they
// are sent, and every period a part of the sum is taken away. A link that is always full has rate * period / discount.
#pragma once

#include "routing/discounted_bytes.hpp"

#include <algorithm>
#include <cstdint>

namespace kuijia::packet {

class LoadEstimator {
  public:
    LoadEstimator(std::int64_t bits_per_second, Time period, double discount)
        : discount_{period, discount}, full_(static_cast<double>(bits_per_second) *
                                             (static_cast<double>(period) / second) / discount / bits_of_byte) {}

    void add(std::uint32_t bytes, Time now) { sum_.add(bytes, now, discount_); }

    // Returns the sum as a part of that of a full link, in whole steps of which `bits` bits can count.
    std::uint8_t level(unsigned bits, Time now) {
        const auto steps = static_cast<double>(1u << bits);
        return static_cast<std::uint8_t>(std::min(bytes(now) / full_ * steps, steps - 1));
    }

    double bytes(Time now) { return sum_.at(now, discount_); }

  private:
    static constexpr double bits_of_byte = 8;

    Discount discount_;
    double full_; // bytes
    DiscountedBytes sum_;
};

} // namespace kuijia::packet
