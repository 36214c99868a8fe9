// Queues that are served in turn, each up to its weight in packets.
#pragma once

#include "queues/buffer.hpp"

#include <utility>
#include <vector>

namespace kuijia::packet {

class Rounds {
  public:
    void add(Buffer &&queue, std::uint32_t weight) {
        queues_.push_back(std::move(queue));
        weights_.push_back(weight);
    }

    // Offers the packet to this queue, or to the last one if there are fewer.
    void offer(std::size_t queue, PacketId id, Arrival &arrival);
    Choice choose(PacketPool &pool, Time now);
    PacketId flush(PacketPool &pool, Time now);

  private:
    std::vector<Buffer> queues_;
    std::vector<std::uint32_t> weights_;
    std::size_t turn_ = 0;
    std::uint32_t served_ = 0; // packets of the queue whose turn it is
};

} // namespace kuijia::packet
