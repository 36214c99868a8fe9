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
        byte_time_ -= static_cast<__int128>(now) * size;
        bytes_ += size;
        peak_ = std::max(peak_, bytes_);
    }

    void remove(Time now, std::uint32_t size) {
        byte_time_ += static_cast<__int128>(now) * size;
        bytes_ -= size;
    }

    // Returns the byte-seconds of waiting until `now`.
    double integral(Time now) const { return in_seconds(byte_time_ + static_cast<__int128>(now) * bytes_); }

    // The following are for queues in which it is known how long a packet will wait.

    // Adds a packet. Returns true if there have never been so many bytes.
    bool add_for(Time wait, std::uint32_t size) {
        byte_time_ += static_cast<__int128>(wait) * size;
        bytes_ += size;
        if (bytes_ <= peak_) [[likely]]
            return false;
        peak_ = bytes_;
        return true;
    }

    // Removes a packet which has waited, but for the rest of the time.
    void remove_after(Time rest, std::uint32_t size) {
        byte_time_ -= static_cast<__int128>(rest) * size;
        bytes_ -= size;
    }

    // Removes all packets, which have waited.
    void clear() { bytes_ = 0; }

    // Returns the byte-seconds of waiting, also those that are yet to come.
    double integral() const { return in_seconds(byte_time_); }

  private:
    static double in_seconds(__int128 byte_time) { return static_cast<double>(byte_time) * 1e-12; }

    std::int64_t bytes_ = 0;
    std::int64_t peak_ = 0;
    __int128 byte_time_ = 0; // of waiting; unless waits are known: as if all had begun to wait at time 0, less that
};

} // namespace kuijia::packet
