// One memory for all outputs of a switch, divided by dynamic thresholds (Choudhury and Hahne, IEEE/ACM Transactions on
// Networking 6, 1998): a queue takes packets while it is shorter than `alpha` times the memory that is free.
#pragma once

#include "queues/buffer.hpp"

namespace kuijia::packet {

struct SharedBufferRules {
    static constexpr const char *name = "SharedBuffer";
    FifoRules queue;                    // of each output
    std::int64_t total = largest_queue; // bytes of the memory
    double alpha = 1;

    static auto fields() {
        return std::tuple{
            plain("queue", &SharedBufferRules::queue),
            number("total", &SharedBufferRules::total, 1, largest_queue, "must be between 1 and 2^30 bytes"),
            number("alpha", &SharedBufferRules::alpha, above_zero, 1e6, "must be above 0 and at most 10^6"),
        };
    }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class SharedBuffer final : public Discipline {
  public:
    struct Memory final : SharedByPorts {
        std::int64_t used = 0; // bytes of all queues together, in whole cells
    };

    SharedBuffer(const SharedBufferRules &rules, std::shared_ptr<Memory> memory)
        : buffer_(rules.queue), total_(rules.total), alpha_(rules.alpha), memory_(std::move(memory)) {}

    void offer(PacketId id, Arrival &arrival) override;
    Choice choose(PacketPool &pool, Time now) override;
    PacketId flush(PacketPool &pool, Time now) override;

  private:
    bool has_room(const Packet &packet) const;

    Buffer buffer_;
    std::int64_t total_;
    double alpha_;
    std::shared_ptr<Memory> memory_;
};

} // namespace kuijia::packet
