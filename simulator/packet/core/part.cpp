// A simulation that does one part of a network.
#include "part.hpp"

#include "simulation.hpp"

#include <algorithm>
#include <utility>

namespace kuijia::packet {

void Simulation::become(std::unique_ptr<Part> part) {
    part_ = std::move(part);
    windows_.reset();
    for (std::uint32_t link = 0; link < links_; ++link) {
        auto &port = ports_[link];
        port.crosses = part_of(scenario_.links[link].source) != part_of(scenario_.links[link].target);
        if (port.crosses && port.discipline == no_discipline)
            port.discipline = none_and_crosses;
        if (port.crosses && port.has_discipline() && turns_[port.discipline].late &&
            part_->has(scenario_.links[link].source))
            part_->crossing.push_back(link);
    }
}

// Runs to `until`, or to an event that depends on what has not yet happened in another part. Returns the key before
// which all events have happened.
Part::Key Simulation::run_part(Time until) {
    for (;;) {
        const auto time = queue_.next_time();
        if (time > until || time == never) {
            send_across(until);
            return Part::after(until);
        }
        const auto source = queue_.take();
        if (wide_)
            fetch_ahead();
        part_->current = source;
        if (const auto late = late_for(source, time); late != no_flow && !knows_sender(late, time)) {
            queue_.push(time, source);
            send_across(time); // turns come before other events of a moment
            return part_->order.key({time, source});
        }
        now_ = time;
        happen(source);
        const bool is_mine = part_->number == 0 || !is_own(source); // all parts have the same events of their own
        events_ += is_mine && counts(source);
    }
}

// Takes the turns of ports that send to other parts up to a time: what these may know of must be on its way.
void Simulation::send_across(Time until) {
    for (const auto link : part_->crossing)
        send_waiting(link, until);
}

// Returns when something happens next, `never` if nothing will.
Time Simulation::next_in_part() {
    auto next = queue_.next_time();
    for (const auto link : part_->crossing)
        next = std::min(next, turns_[ports_[link].discipline].due);
    return next;
}

// Returns the flow whose receiver has an event after its sender may have ended, at the end of another part; `no_flow`
// if there is none. The acknowledgement of the last data must have come back before.
std::uint32_t Simulation::late_for(Source source, Time time) const {
    auto number = no_flow;
    if (const auto link = source - links_; link < links_) {
        const auto &transit = part_->transit[link];
        const auto id = ports_[link].link.head;
        const auto *packet = !transit.empty() ? &transit.first() : id != no_packet ? &pool_[id] : nullptr;
        if (packet != nullptr && packet->at == time && hops_[packet->hop + 1] == no_hop && !packet->backward)
            number = packet->flow;
    } else if (source >= links_) {
        const auto &timer = timers_[source - 2 * links_];
        if (timer.armed == time)
            number = timer.flow;
    }
    if (number == no_flow)
        return no_flow;
    const auto &flow = flows_[number];
    if (flow.record.finished == never || time - flow.record.finished < part_->shortest)
        return no_flow;
    return flow.transport == nullptr || part_->has(flow.source) ? no_flow : number;
}

// Returns true if it is known whether a flow's sender ended before the current event. If it did, the receiver ends.
bool Simulation::knows_sender(std::uint32_t number, Time time) {
    const auto key = part_->order.key({time, part_->current});
    const auto end = std::ranges::find(part_->ends, number, &SenderEnd::flow);
    if (end != part_->ends.end()) {
        if (end->when < key)
            end_receiver(number);
        return true;
    }
    part_->waits_for = part_of(flows_[number].source);
    return part_->done[part_->waits_for] >= key;
}

void Simulation::take_over(Mail &&mail) {
    for (auto &[link, packets] : mail.batches) {
        auto &transit = part_->transit[link];
        if (transit.empty())
            queue_.push(packets.front().at, arrival_at(link));
        transit.add(std::move(packets));
    }
    part_->ends.insert(part_->ends.end(), mail.ends.begin(), mail.ends.end());
}

// Ends the receivers whose senders ended before an event.
void Simulation::end_receivers(Part::Key before) {
    std::erase_if(part_->ends, [&](const SenderEnd &end) {
        if (end.when < before)
            end_receiver(end.flow);
        return end.when < before;
    });
}

void Simulation::end_receiver(std::uint32_t number) {
    auto &flow = flows_[number];
    if (flow.transport == nullptr)
        return;
    take_counters(flow, flow.record);
    flow.transport.reset();
}

// Tells the part of a flow's receiver that its sender has ended.
void Simulation::tell_end(std::uint32_t number) {
    const auto target = part_of(flows_[number].target);
    if (target != part_->number && !flows_[number].datagrams)
        part_->ended[target].push_back({number, part_->order.key({now_, part_->current})});
}

// Sends a packet by a link to another part.
void Simulation::cross(PacketId id, std::uint32_t link) {
    if (ports_[link].offer(pool_[id], now_, queue_draws_)) {
        post(pool_[id], link);
        return pool_.give_back(id);
    }
    ++totals_.dropped;
    drop(id);
}

void Simulation::post(const Packet &packet, std::uint32_t link) {
    auto &packets = part_->outgoing[link];
    if (packets.empty())
        part_->used.push_back(link);
    packets.push_back(packet);
}

// Takes the first packet on a link from another part, if it arrives now.
void Simulation::arrive_from_part(std::uint32_t link) {
    auto &transit = part_->transit[link];
    const auto id = pool_.take();
    auto &packet = pool_[id];
    packet = transit.first();
    transit.drop_first();
    if (!transit.empty())
        queue_.push(transit.first().at, arrival_at(link));
    const auto next = hops_[++packet.hop];
    if (next == no_hop)
        deliver(id);
    else
        forward(id, next, link);
}

// Adds what has been sent to another part to the mail for it.
void Simulation::collect(std::vector<Mail> &mail) {
    for (const auto link : std::exchange(part_->used, {})) {
        auto &packets = part_->outgoing[link];
        const auto usual = packets.size();
        mail[part_of(scenario_.links[link].target)].batches.push_back({link, std::exchange(packets, {})});
        packets.reserve(usual + usual / 4);
    }
    for (std::size_t part = 0; part < mail.size(); ++part)
        mail[part].ends = std::exchange(part_->ended[part], {});
}

} // namespace kuijia::packet
