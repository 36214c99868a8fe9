// Backlog of a queue, now and over time.
#pragma once

#include "units.hpp"

#include <algorithm>
#include <cstdint>

namespace kuijia::packet {

class Backlog {
  public:
    const std::int64_t &bytes() const { return bytes_; }
    const std::int64_t &peak() const { return peak_; }

    void add(Time now, std::uint32_t size) {
        account(now);
        bytes_ += size;
        peak_ = std::max(peak_, bytes_);
    }

    void remove(Time now, std::uint32_t size) {
        account(now);
        bytes_ -= size;
    }

    // Returns the byte-seconds of waiting until `now`.
    double integral(Time now) {
        account(now);
        return static_cast<double>(integral_) * 1e-12;
    }

  private:
    void account(Time now) {
        integral_ += static_cast<__int128>(bytes_) * (now - since_);
        since_ = now;
    }

    std::int64_t bytes_ = 0;
    std::int64_t peak_ = 0;
    Time since_ = 0;
    __int128 integral_ = 0;
};

} // namespace kuijia::packet
