// Bytes sent of late, discounted every period (the DRE of Alizadeh et al., CONGA, SIGCOMM 2014, section 3.2). Sums of
// several flows may be added and taken apart, because all are discounted at the same times.
#pragma once

#include "units.hpp"

#include <cstdint>

namespace kuijia::packet {

struct Discount {
    Time period;
    double gain; // the part that is taken away after each period

    // Returns the sum that a steady rate comes to, on average.
    double bytes_at(double bits_per_second) const { return bits_per_second / 8 * seconds(period) / gain; }
};

class DiscountedBytes {
  public:
    // Returns the sum at `now`; discounts are at whole multiples of the period.
    double at(Time now, const Discount &discount) {
        if (now >= next_) {
            auto periods = next_ == 0 ? 0 : (now - next_) / discount.period + 1;
            next_ = (now / discount.period + 1) * discount.period;
            for (auto factor = 1 - discount.gain; periods > 0; periods /= 2, factor *= factor)
                if (periods % 2 != 0)
                    bytes_ *= factor;
        }
        return bytes_;
    }

    void add(double bytes, Time now, const Discount &discount) { bytes_ = at(now, discount) + bytes; }

  private:
    double bytes_ = 0;
    Time next_ = 0; // discount
};

} // namespace kuijia::packet
