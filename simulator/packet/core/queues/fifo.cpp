#include "queues/fifo.hpp"

namespace kuijia::packet {

std::unique_ptr<Discipline> FifoRules::discipline(const Site &) const { return std::make_unique<Fifo>(*this); }

Choice Fifo::choose(PacketPool &pool, Time now) {
    auto retry = never;
    const auto id = buffer_.take_if_due(pool, now, retry);
    return {id, retry};
}

} // namespace kuijia::packet
