// Readings of a simulation at any time: its flows, its ports, and the probes of their queues.
#include "simulation.hpp"

namespace kuijia::packet {

void Simulation::probe() {
    probe_times_.push_back(now_);
    for (const auto link : scenario_.probed)
        probed_bytes_.push_back(port(link).backlog.bytes());
    if (next_time() != never)
        arm(probes, now_ + scenario_.probed_every);
}

Port &Simulation::port(std::size_t link) {
    auto &port = ports_[link];
    if (port.has_discipline())
        send_waiting(static_cast<std::uint32_t>(link), now_);
    port.settle(now_);
    return port;
}

std::vector<std::uint32_t> Simulation::on_links() {
    std::vector<std::uint32_t> counts(ports_.size());
    for (std::size_t link = 0; link < ports_.size(); ++link) {
        const auto &settled = port(link);
        for (auto id = settled.link.head; id != no_packet; id = pool_[id].next)
            ++counts[link];
        counts[link] -= settled.waiting.count();
    }
    if (windows_ != nullptr)
        windows_->calendar.for_each([&](const Hop &hop) { ++counts[hops_[pool_[hop.packet].hop]]; });
    return counts;
}

std::span<const QueueCounters> Simulation::queue_counters(std::size_t link) {
    const auto discipline = port(link).discipline;
    if (discipline >= disciplines_.size())
        return {};
    return disciplines_[discipline]->queue_counters();
}

FlowRecord Simulation::record(std::size_t number) const {
    const auto &flow = flows_[number];
    auto record = flow.record;
    if (flow.transport != nullptr)
        take_counters(flow, record);
    return record;
}

void Simulation::take_counters(const Flow &flow, FlowRecord &record) {
    const auto counters = flow.transport->counters();
    record.retransmitted = counters.retransmitted;
    record.timeouts = counters.timeouts;
    record.recoveries = counters.recoveries;
    record.offered = counters.offered;
    record.credits = counters.credits;
    record.unused = counters.unused;
    if (!flow.datagrams)
        record.goodput = counters.goodput;
}

// Counts the credits that come when their flow has ended.
void Simulation::note_unused(Flow &flow, const Packet &packet) {
    if (packet.kind != Kind::credit)
        return;
    for (std::uint8_t block = 0; block < packet.blocks; ++block) {
        flow.record.credits += packet.sacked[block].size();
        flow.record.unused += packet.sacked[block].size();
    }
}

RecordsView Simulation::records() {
    for (std::size_t number = 0; number < flows_.size(); ++number)
        if (flows_[number].transport != nullptr)
            flows_[number].record = record(number);
    viewed_ = true;
    return {flows_.empty() ? nullptr : &flows_.front().record, flows_.size(), sizeof(Flow)};
}

PathCounters Simulation::path_counters() const {
    return path_choice_ == nullptr ? PathCounters{} : path_choice_->counters();
}

TransportCounters Simulation::counters(std::size_t number) const {
    const auto &transport = flows_[number].transport;
    return transport == nullptr ? TransportCounters{} : transport->counters();
}

} // namespace kuijia::packet
