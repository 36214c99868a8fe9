// The discounting rate estimator of a link (Alizadeh et al., CONGA, SIGCOMM 2014, section 3.2): bytes are added as they
// are sent, and every period a part of the sum is taken away. A link that is always full has rate * period / discount.
#pragma once

#include "units.hpp"

#include <algorithm>
#include <cstdint>

namespace kuijia::packet {

class LoadEstimator {
  public:
    LoadEstimator(std::int64_t bits_per_second, Time period, double discount)
        : keep_(1 - discount), full_(static_cast<double>(bits_per_second) * (static_cast<double>(period) / second) /
                                     discount / bits_of_byte),
          period_(period), next_(period) {}

    void add(std::uint32_t bytes, Time now) {
        discount(now);
        bytes_ += bytes;
    }

    // Returns the sum as a part of that of a full link, in whole steps of which `bits` bits can count.
    std::uint8_t level(unsigned bits, Time now) {
        discount(now);
        const auto steps = static_cast<double>(1u << bits);
        return static_cast<std::uint8_t>(std::min(bytes_ / full_ * steps, steps - 1));
    }

    double bytes(Time now) {
        discount(now);
        return bytes_;
    }

  private:
    static constexpr double bits_of_byte = 8;

    // Makes the discounts that are due: at whole multiples of the period.
    void discount(Time now) {
        if (now < next_)
            return;
        auto periods = (now - next_) / period_ + 1;
        next_ += periods * period_;
        for (auto factor = keep_; periods > 0; periods /= 2, factor *= factor)
            if (periods % 2 != 0)
                bytes_ *= factor;
    }

    double keep_;
    double full_; // bytes
    Time period_;
    Time next_;
    double bytes_ = 0;
};

} // namespace kuijia::packet
