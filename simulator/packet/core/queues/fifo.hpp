// One queue with what a port does not do by itself: random drops and marks, cells, a token bucket.
#pragma once

#include "queues/buffer.hpp"

#include <algorithm>

namespace kuijia::packet {

class Fifo final : public Discipline {
  public:
    explicit Fifo(const FifoRules &rules) : buffer_(rules, false, true) {}

    void offer(PacketId id, Arrival &arrival) override { buffer_.offer(id, arrival); }
    Choice choose(PacketPool &pool, Time now) override;
    PacketId flush(PacketPool &pool, Time now) override {
        return buffer_.empty() ? no_packet : buffer_.take(pool, now);
    }
    Time drained_at(const Port &port) const override { return std::max(port.free_at, buffer_.drained_at()); }

  private:
    Buffer buffer_;
};

} // namespace kuijia::packet
