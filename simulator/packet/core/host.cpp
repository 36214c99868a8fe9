// A host's part of the simulation: the services that its transports use.
#include "transports/host.hpp"

#include "simulation.hpp"

namespace kuijia::packet {

Random &Host::random() { return simulation_.host_draws_[flow_ & simulation_.streams_]; }

Host::Outgoing Host::make(Way way, Kind kind, std::uint32_t size, std::uint32_t number, bool again) {
    auto &flow = simulation_.flows_[flow_];
    const auto id = simulation_.pool_.take();
    auto &packet = simulation_.pool_[id];
    packet.sent = now_;
    packet.flow = flow_;
    packet.number = number;
    packet.size = size & 0xffffff;
    packet.kind = kind;
    packet.ecn_capable = packet.marked = packet.echo = false;
    packet.backward = way == Way::backward;
    packet.again = again;
    packet.blocks = 0;
    packet.path = no_path;
    packet.level = flow.rules.level;
    flow.record.sent_packets += kind == Kind::data;
    packet.hop = packet.backward ? flow.backward : flow.forward;
    if (simulation_.path_choice_ != nullptr || simulation_.forwarding_ != nullptr) {
        const auto set = packet.backward ? flow.rules.backward : flow.rules.forward;
        auto route = simulation_.scenario_.paths[set].front();
        if (simulation_.path_choice_ != nullptr) {
            const auto choices = simulation_.path_network_.choices(set);
            route = choices.routes[simulation_.path_choice_->choose(packet, choices)];
        }
        packet.hop = simulation_.forwarding_ ? route : simulation_.first_hop_[route];
    }
    ++simulation_.totals_.made;
    return {id, packet};
}

void Host::send(PacketId id) {
    simulation_.trace_.sent(id);
    auto &packet = simulation_.pool_[id];
    if (simulation_.wants_delays_ && packet.kind == Kind::acknowledgement)
        set_delay(packet, now_ - packet.sent);
    const auto hop = packet.hop;
    const auto first = simulation_.forwarding_ ? simulation_.first_hop_[hop] : hop;
    simulation_.forward(id, simulation_.hops_[first], no_hop);
}

void Host::wake_at(unsigned timer, Time time) {
    const auto &flow = simulation_.flows_[flow_];
    const auto place = timer < near_timers ? flow.timers + timer : flow.further_timers + timer - near_timers;
    simulation_.arm(simulation_.timers_[place].armed, time, simulation_.source_of(place));
}

Time Host::card_free_at() const {
    const auto link = simulation_.hops_[simulation_.flows_[flow_].forward];
    const auto &port = simulation_.ports_[link];
    if (!port.has_discipline())
        return port.free_at;
    simulation_.send_waiting(link, now_);
    return simulation_.disciplines_[port.discipline]->drained_at(port);
}

std::int64_t Host::card_rate(Way way) const {
    const auto &flow = simulation_.flows_[flow_];
    return simulation_.scenario_.links[simulation_.hops_[way == Way::forward ? flow.forward : flow.backward]]
        .bits_per_second;
}

void Host::timed_out() {
    if (simulation_.listener_ != nullptr)
        simulation_.listener_->timed_out(flow_, now_);
}

void Host::complete() { simulation_.flows_[flow_].record.finished = now_; }

void Host::finish(bool acknowledged) {
    auto &flow = simulation_.flows_[flow_];
    flow.over = true;
    if (acknowledged)
        flow.record.acknowledged = now_;
}

} // namespace kuijia::packet
