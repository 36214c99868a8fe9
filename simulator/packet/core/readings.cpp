// Readings of a simulation at any time: its flows, its ports, and the probes of their queues.
#include "simulation.hpp"

namespace kuijia::packet {

void Simulation::probe() {
    probe_times_.push_back(now_);
    for (const auto link : scenario_.probed)
        probed_bytes_.push_back(port(link).backlog.bytes());
    if (!queue_.empty())
        queue_.push(now_ + scenario_.probed_every, probe_source_);
}

Port &Simulation::port(std::size_t link) {
    ports_[link].settle(pool_, now_);
    return ports_[link];
}

std::uint32_t Simulation::on_link(std::size_t link) {
    std::uint32_t count = 0;
    const auto &settled = port(link);
    for (auto id = settled.link.head; id != settled.first_waiting && id != no_packet; id = pool_[id].next)
        ++count;
    return count;
}

FlowRecord Simulation::record(std::size_t number) const {
    const auto &flow = flows_[number];
    auto record = flow.record;
    if (flow.connection != nullptr) {
        record.tcp = flow.connection->sender.counters();
        const auto segments = std::uint64_t{flow.connection->receiver.in_order()};
        record.goodput = segments * scenario_.tcp[flow.rules.rules].payload;
        if (segments == flow.packets)
            record.goodput = flow.rules.bytes;
    }
    return record;
}

FlowState Simulation::state(std::size_t number) const {
    const auto &connection = flows_[number].connection;
    if (connection == nullptr)
        return {0, 0, 0};
    return {connection->sender.window(), connection->sender.outstanding(), connection->sender.round_trip()};
}

} // namespace kuijia::packet
