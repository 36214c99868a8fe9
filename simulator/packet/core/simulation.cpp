#include "simulation.hpp"

#include "compiler.hpp"

#include <algorithm>

namespace kuijia::packet {

namespace {

constexpr std::size_t transport_bytes = 6 * cache_line; // that TCP touches when a packet arrives

} // namespace

bool Simulation::run(Time until, std::uint64_t events) {
    for (const auto enough = events_ + events;;) {
        const auto time = next_time();
        if (time > until || time == never) {
            now_ = std::max(now_, time == never ? now_ : until);
            return true;
        }
        if (events_ >= enough && time > now_)
            return false;
        windows_ == nullptr ? take_event(time) : take_window(time, until);
    }
}

// Lets the next event in the queue happen, which is at `time`.
void Simulation::take_event(Time time) {
    const auto source = queue_.take();
    if (wide_)
        fetch_ahead();
    now_ = time;
    happen(source);
    events_ += counts(source);
}

// Fetches what the next events will touch: a port, then the first packet on its link, then the one after it and where
// the first goes, at last what is to be found there: packets, or a transport and the port by which it answers.
void Simulation::fetch_ahead() {
    const auto busy_port = [&](std::size_t events) -> const Port * {
        const auto link = queue_.ahead(events) - links_;
        return link < links_ && !ports_[link].link.empty() ? &ports_[link] : nullptr;
    };
    const auto next_hop = [&](const Port &port) { return hops_[pool_[port.link.head].hop + 1]; };
    if (const auto link = queue_.ahead(EventQueue::most_ahead) - links_; link < links_)
        fetch(&ports_[link]);
    if (const auto *port = busy_port(12))
        fetch(&pool_[port->link.head]);
    if (forwarding_ != nullptr) // it is not known where packets will go
        return;
    if (const auto *port = busy_port(8)) {
        const auto &packet = pool_[port->link.head];
        if (packet.next != no_packet)
            fetch(&pool_[packet.next]);
        if (const auto next = next_hop(*port); next != no_hop) {
            fetch(&ports_[next]);
            fetch(&ports_[next].backlog);
        } else if (packet.flow != no_flow) {
            const auto &flow = flows_[packet.flow];
            fetch(&flow);
            fetch(&flow.transport);
            fetch(&flow.record.marked_packets);
        }
    }
    if (const auto *port = busy_port(4)) {
        const auto &packet = pool_[port->link.head];
        if (const auto next = next_hop(*port); next != no_hop) {
            const auto &target = ports_[next];
            if (target.link.empty())
                return;
            fetch(&pool_[target.link.tail]);
            target.waiting.fetch_ends();
        } else if (packet.flow != no_flow) {
            const auto &flow = flows_[packet.flow];
            fetch(flow.transport.get(), transport_bytes);
            const auto &answers = ports_[hops_[packet.backward ? flow.forward : flow.backward]];
            fetch(&answers);
            fetch(&answers.backlog);
        }
    }
}

void Simulation::happen(Source source) {
    if (source - links_ < links_)
        return arrive(source - links_);
    if (source < links_) {
        auto &armed = turns_[ports_[source].discipline].armed;
        if (armed == now_) {
            armed = never;
            take_turns(source);
        }
    } else {
        expire(source - 2 * links_);
    }
}

void Simulation::expire(std::uint32_t number) {
    auto &timer = timers_[number];
    if (timer.armed != now_)
        return;
    timer.armed = never;
    if (timer.flow == no_flow) {
        switch (timer.number) {
        case starts:
            return start_flows();
        case changes:
            return make_changes();
        case probes:
            return probe();
        default:
            return path_choice_->wake(now_);
        }
    }
    auto &flow = flows_[timer.flow];
    if (flow.transport == nullptr)
        return;
    Host host(*this, timer.flow, now_);
    flow.transport->wake(host, timer.number);
    end_if_over(flow);
}

void Simulation::arrive(std::uint32_t link) {
    auto &port = ports_[link];
    if (port.link.empty() || pool_[port.link.head].at != now_) {
        if (port.crosses)
            arrive_from_part(link);
        return; // the packet was lost when the link failed
    }
    const auto id = port.link.take_first(pool_);
    if (!port.link.empty()) {
        const auto &first = pool_[port.link.head];
        queue_.push(first.at, arrival_at(link));
        if (first.next != no_packet)
            fetch(&pool_[first.next]); // on a long link it was touched long ago
    } else if (port.has_discipline() && turns_[port.discipline].late) {
        take_turns(link);
    }
    auto &packet = pool_[id];
    if (forwarding_ != nullptr)
        return relay(id, link);
    const auto next = hops_[++packet.hop];
    if (next == no_hop)
        deliver(id);
    else
        forward(id, next, link);
}

// Lets the node at the end of a link forward a packet, or keep it if it is for this node.
void Simulation::relay(PacketId id, std::uint32_t link) {
    auto &packet = pool_[id];
    const auto node = scenario_.links[link].target;
    const auto target = ends(packet).target;
    if (node == target)
        return deliver(id);
    const auto next = forwarding_->next(node, target, packet, now_, link);
    if (next != no_link)
        return forward(id, next, link);
    ++totals_.unroutable;
    lose(id, link);
}

// Returns true if a link that is lossy, or leaves a switch with faults, loses the packet.
bool Simulation::loses(PacketId id, std::uint32_t link) {
    const auto loss = ports_[link].loss;
    if (loss > 0 && link_draws_.unit() < loss)
        return true;
    const auto [source, target] = ends(pool_[id]);
    const bool swallowed = faults_.swallow(scenario_.links[link].source, source, target, now_);
    totals_.swallowed += swallowed;
    return swallowed;
}

// Returns the nodes from which and to which a packet goes.
PathNetwork::Ends Simulation::ends(const Packet &packet) const {
    if (packet.flow == no_flow)
        return {packet.sacked[0].begin, packet.sacked[0].end};
    const auto &flow = flows_[packet.flow];
    return packet.backward ? PathNetwork::Ends{flow.target, flow.source} : PathNetwork::Ends{flow.source, flow.target};
}

void Simulation::lose(PacketId id, std::uint32_t link) {
    ++ports_[link].counters.lost_packets;
    ++totals_.lost;
    drop(id);
}

// Sends a packet by a link; it came by the link `before`, unless it comes from the node itself.
void Simulation::forward(PacketId id, std::uint32_t link, std::uint32_t before) {
    trace_.offered(id, link, pool_[id].level);
    auto &port = ports_[link];
    if (!port.up || (port.lossy && loses(id, link)))
        return lose(id, link);
    if (port.discipline == no_discipline) {
        if (port.offer(pool_[id], now_, queue_draws_))
            return carry(id, link);
        ++totals_.dropped;
        return drop(id);
    }
    if (port.discipline == none_and_crosses)
        return cross(id, link);
    auto &turn = turns_[port.discipline];
    if (turn.late)
        send_waiting(link, now_);
    Arrival arrival{pool_, port, queue_draws_, now_, before == no_hop ? 0 : ports_[before].input};
    disciplines_[port.discipline]->offer(id, arrival);
    while (!arrival.dropped.empty()) {
        ++totals_.dropped;
        drop(arrival.dropped.take_first(pool_));
    }
    if (port.free_at > now_)
        turn.due = port.free_at;
    else
        send_next(link, now_);
    wait_for_turn(link);
}

// Takes the turns of a port up to now, and sees to the next one.
void Simulation::take_turns(std::uint32_t link) {
    send_waiting(link, now_);
    wait_for_turn(link);
}

// Takes the turns of a port up to a time.
void Simulation::send_waiting(std::uint32_t link, Time until) {
    const auto &turn = turns_[ports_[link].discipline];
    while (turn.due <= until)
        send_next(link, turn.due);
}

// Sends the packet that the port's discipline chooses at a time, if any may go; the link is free then.
void Simulation::send_next(std::uint32_t link, Time now) {
    auto &port = ports_[link];
    auto &turn = turns_[port.discipline];
    const auto choice = disciplines_[port.discipline]->choose(pool_, now);
    turn.due = choice.retry;
    if (choice.packet == no_packet)
        return;
    auto &packet = pool_[choice.packet];
    port.backlog.remove(now, packet.size);
    port.count_sent(1, packet.size);
    port.free_at = now + port.rate.of(packet.size);
    packet.at = port.free_at + port.delay;
    if (port.backlog.bytes() > 0)
        turn.due = port.free_at;
    if (port.crosses) {
        post(packet, link);
        pool_.give_back(choice.packet);
    } else {
        carry(choice.packet, link);
    }
}

// Sees to it that the port's next turn is taken: by an event, or when what is on the link arrives, before anything that
// is sent after it, or at the end of a slice if the link crosses.
void Simulation::wait_for_turn(std::uint32_t link) {
    const auto &port = ports_[link];
    auto &turn = turns_[port.discipline];
    if (turn.due != never && !(turn.late && (port.crosses || !port.link.empty())))
        arm(turn.armed, turn.due, link);
}

// An event that is later than the new deadline stays in the queue; it is ignored when its time comes.
void Simulation::arm(Time &armed, Time deadline, Source source) {
    if (deadline < armed) {
        armed = deadline;
        queue_.push(deadline, source);
    }
}

void Simulation::arm(Own timer, Time deadline) {
    arm(timers_[own_timers_ + timer].armed, deadline, source_of(own_timers_ + timer));
}

void Simulation::drop(PacketId id) {
    auto &packet = pool_[id];
    if (packet.kind == Kind::data)
        ++flows_[packet.flow].record.dropped_packets;
    else if (packet.kind == Kind::emulation && !packet.ecn_capable)
        ++flows_[packet.flow].record.yielded;
    pool_.give_back(id);
}

void Simulation::deliver(PacketId id) {
    const auto packet = pool_[id];
    trace_.received(id, packet);
    pool_.give_back(id);
    ++totals_.arrived;
    if (packet.kind == Kind::path_probe)
        return path_choice_->probed(packet, now_);
    auto &flow = flows_[packet.flow];
    if (packet.kind == Kind::data) {
        ++totals_.data_arrived;
        ++flow.record.arrived_packets;
        flow.record.marked_packets += packet.marked;
        if (flow.datagrams) {
            flow.record.goodput += packet.size;
            flow.record.reordered += packet.number < flow.record.next_number;
            flow.record.next_number = std::max(flow.record.next_number, packet.number + 1);
            if (flow.record.arrived_packets == flow.packets)
                flow.record.finished = now_;
            return;
        }
    }
    if (flow.transport == nullptr)
        return note_unused(flow, packet);
    if (listener_ != nullptr && packet.kind == Kind::acknowledgement)
        listener_->acknowledged(packet, now_);
    Host host(*this, packet.flow, now_);
    flow.transport->receive(host, packet);
    end_if_over(flow);
}

void Simulation::start_flows() {
    for (; started_ < by_start_.size(); ++started_) {
        const auto number = by_start_[started_];
        auto &flow = flows_[number];
        if (flow.rules.start > now_)
            return arm(starts, flow.rules.start);
        const bool sends = part_ == nullptr || part_->has(flow.source);
        if (!sends && (flow.datagrams || !part_->has(flow.target)))
            continue;
        flow.transport = std::visit([&](const auto &rules) { return rules.transport(flow.rules); },
                                    scenario_.transports[flow.rules.transport]);
        if (!sends)
            continue;
        Host host(*this, number, now_);
        flow.transport->start(host);
        end_if_over(flow);
    }
}

void Simulation::end_if_over(Flow &flow) {
    if (!flow.over)
        return;
    take_counters(flow, flow.record);
    if (listener_ != nullptr)
        listener_->ended(static_cast<std::uint32_t>(&flow - flows_.data()), now_);
    if (part_ != nullptr)
        tell_end(static_cast<std::uint32_t>(&flow - flows_.data()));
    flow.transport.reset();
    flow.over = false;
    --unfinished_;
}

} // namespace kuijia::packet
