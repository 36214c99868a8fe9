// One queue per input of the switch, served in turn, one packet each: a crosspoint-queued switch.
#pragma once

#include "queues/rounds.hpp"

namespace kuijia::packet {

struct CrosspointsRules {
    static constexpr const char *name = "Crosspoints";
    FifoRules queue;
    bool held_while_sent = false; // a packet's memory is free again when its transmission ends, not when it begins

    static auto fields() {
        return std::tuple{
            plain("queue", &CrosspointsRules::queue),
            plain("held_while_sent", &CrosspointsRules::held_while_sent),
        };
    }
    const FifoRules *only(std::uint32_t inputs) const { return inputs == 1 && !held_while_sent ? &queue : nullptr; }
    std::unique_ptr<Discipline> discipline(const Site &site) const;
};

class Crosspoints final : public Discipline {
  public:
    Crosspoints(const CrosspointsRules &rules, std::uint32_t inputs);

    void offer(PacketId id, Arrival &arrival) override { rounds_.offer(arrival.input, id, arrival); }
    Choice choose(PacketPool &pool, Time now) override { return rounds_.choose(pool, now); }
    PacketId flush(PacketPool &pool, Time now) override { return rounds_.flush(pool, now); }

  private:
    Rounds rounds_;
};

} // namespace kuijia::packet
