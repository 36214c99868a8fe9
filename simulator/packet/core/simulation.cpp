#include "simulation.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kuijia::packet {

namespace {

constexpr std::uint32_t no_hop = 0xffffffff;
constexpr std::uint32_t endless = 0xffffffff;

Scenario validated(Scenario scenario) {
    scenario.validate();
    return scenario;
}

// Returns the bytes of the SACK option: two and eight per block (RFC 2018), padded to four as all TCP options.
std::uint32_t sack_option(std::uint32_t blocks) { return blocks > 0 ? 4 + 8 * blocks : 0; }

bool needs_scheduler(const Queueing &queueing) {
    const auto &first = queueing.queues.front();
    return queueing.queues.size() > 1 || first.shaped > 0 || first.overflow == Overflow::random || first.mark_random ||
           first.cell > 1;
}

} // namespace

Simulation::Simulation(Scenario scenario)
    : scenario_(validated(std::move(scenario))), links_(static_cast<std::uint32_t>(scenario_.links.size())),
      start_source_(timer_of_sender(static_cast<std::uint32_t>(scenario_.flows.size()))),
      change_source_(start_source_ + 1), probe_source_(start_source_ + 2), random_(scenario_.seed),
      queue_(scenario_.seed, links_) {
    for (const auto &link : scenario_.links) {
        const auto &queueing = scenario_.queueings[link.queueing];
        auto &port = ports_.emplace_back(Rate(link.bits_per_second), link.delay, queueing.queues.front());
        port.input = link.input;
        port.loss = link.loss;
        if (needs_scheduler(queueing)) {
            port.scheduler = static_cast<std::uint32_t>(schedulers_.size());
            schedulers_.emplace_back(queueing, scenario_.seed ^ ports_.size() << 32);
            scheduler_wakes_.push_back(never);
        }
    }
    hops_.push_back(no_hop);
    for (const auto &route : scenario_.routes) {
        first_hop_.push_back(static_cast<std::uint32_t>(hops_.size()));
        hops_.insert(hops_.end(), route.begin(), route.end());
        hops_.push_back(no_hop);
    }
    for (const auto &rules : scenario_.flows) {
        auto &flow = flows_.emplace_back();
        flow.rules = rules;
        flow.forward = first_hop_[rules.forward];
        flow.backward = first_hop_[rules.backward];
        if (rules.kind == FlowKind::listed) {
            flow.packets = static_cast<std::uint32_t>(scenario_.lists[rules.rules].size());
        } else {
            const auto full = rules.kind == FlowKind::tcp ? scenario_.tcp[rules.rules].payload : rules.packet;
            flow.packets = rules.bytes > 0 ? static_cast<std::uint32_t>((rules.bytes + full - 1) / full) : endless;
            flow.last = rules.bytes > 0 ? static_cast<std::uint32_t>((rules.bytes - 1) % full + 1) : full;
        }
        unfinished_ += flow.packets != endless;
    }
    by_start_.resize(flows_.size());
    std::iota(by_start_.begin(), by_start_.end(), 0);
    std::stable_sort(by_start_.begin(), by_start_.end(),
                     [&](auto one, auto other) { return flows_[one].rules.start < flows_[other].rules.start; });
    for (std::uint32_t place = 0; place < scenario_.link_changes.size(); ++place)
        changes_.push_back({scenario_.link_changes[place].time, true, place});
    for (std::uint32_t place = 0; place < scenario_.route_changes.size(); ++place)
        changes_.push_back({scenario_.route_changes[place].time, false, place});
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const auto &one, const auto &other) { return one.time < other.time; });
    if (!by_start_.empty())
        queue_.push(flows_[by_start_.front()].rules.start, start_source_);
    if (!changes_.empty())
        queue_.push(changes_.front().time, change_source_);
    if (!scenario_.probed.empty() && scenario_.probed_every != never)
        queue_.push(0, probe_source_);
}

bool Simulation::run(Time until, std::uint64_t events) {
    for (const auto end = events_ + events; events_ < end; ++events_) {
        if (queue_.empty() || queue_.next().time() > until) {
            now_ = std::max(now_, queue_.empty() ? now_ : until);
            return true;
        }
        now_ = queue_.next().time();
        happen(queue_.next().source());
    }
    return false;
}

// Handles the first event of the queue. A link with a next arrival replaces the event by it; other events are popped.
void Simulation::happen(Source source) {
    if (source - links_ < links_)
        return arrive(source - links_);
    queue_.pop();
    if (source < links_) {
        auto &wakes = scheduler_wakes_[ports_[source].scheduler];
        if (wakes == now_) {
            wakes = never;
            serve(source);
        }
    } else if (source < start_source_) {
        const auto timer = source - 2 * links_;
        timer % 2 == 0 ? sender_wakes(timer / 2) : receiver_wakes(timer / 2);
    } else if (source == start_source_) {
        start_flows();
    } else if (source == change_source_) {
        make_changes();
    } else {
        probe();
    }
}

void Simulation::arrive(std::uint32_t link) {
    auto &port = ports_[link];
    if (port.link.empty() || pool_[port.link.head].at != now_)
        return queue_.pop(); // the packet was lost when the link failed
    if (port.link.head == port.first_waiting)
        port.settle(pool_, now_);
    const auto id = port.link.take_first(pool_);
    if (port.link.empty())
        queue_.pop();
    else
        queue_.replace(pool_[port.link.head].at, arrival_at(link));
    auto &packet = pool_[id];
    if (hops_[++packet.hop] == no_hop)
        deliver(id);
    else
        forward(id);
}

void Simulation::forward(PacketId id) {
    const auto hop = pool_[id].hop;
    const auto link = hops_[hop];
    auto &port = ports_[link];
    if (!port.up || (port.loss > 0 && random_.unit() < port.loss)) {
        ++port.counters.lost_packets;
        ++totals_.lost;
        return drop(id);
    }
    if (port.scheduler == no_scheduler) {
        const bool was_empty = port.link.empty();
        if (!port.offer(pool_, id, now_, random_)) {
            ++totals_.dropped;
            return drop(id);
        }
        if (was_empty)
            queue_.push(pool_[id].at, arrival_at(link));
        return;
    }
    const auto before = hops_[hop - 1];
    const auto input = before == no_hop ? 0 : ports_[before].input;
    schedulers_[port.scheduler].offer(pool_, id, input, port, now_, random_, [this](PacketId lost) {
        ++totals_.dropped;
        drop(lost);
    });
    if (port.free_at <= now_)
        serve(link);
    else
        wake(link, port.free_at);
}

// Sends the packet that the port's scheduler chooses, if any may go.
void Simulation::serve(std::uint32_t link) {
    auto &port = ports_[link];
    const auto choice = schedulers_[port.scheduler].choose(pool_, now_);
    if (choice.packet == no_packet) {
        if (choice.retry != never)
            wake(link, choice.retry);
        return;
    }
    auto &packet = pool_[choice.packet];
    port.backlog.remove(now_, packet.size);
    port.count_sent(packet);
    port.free_at = now_ + port.rate.of(packet.size);
    packet.at = port.free_at + port.delay;
    const bool was_empty = port.link.empty();
    port.link.append(pool_, choice.packet);
    if (was_empty)
        queue_.push(packet.at, arrival_at(link));
    if (port.backlog.bytes() > 0)
        wake(link, port.free_at);
}

void Simulation::wake(std::uint32_t link, Time time) { arm(scheduler_wakes_[ports_[link].scheduler], time, link); }

// An event that is later than the new deadline stays in the queue; it is ignored when its time comes.
void Simulation::arm(Time &armed, Time deadline, Source source) {
    if (deadline < armed) {
        armed = deadline;
        queue_.push(deadline, source);
    }
}

void Simulation::drop(PacketId id) {
    auto &packet = pool_[id];
    if (packet.kind == Kind::data)
        ++flows_[packet.flow].record.dropped_packets;
    pool_.give_back(id);
}

PacketId Simulation::make(std::uint32_t number, Kind kind, std::uint32_t hop, std::uint32_t size) {
    const auto id = pool_.take();
    auto &packet = pool_[id];
    packet.sent = now_;
    packet.hop = hop;
    packet.flow = number;
    packet.number = 0;
    packet.size = size & 0xffffff;
    packet.kind = kind;
    packet.ecn_capable = packet.marked = packet.echo = false;
    packet.blocks = 0;
    packet.level = flows_[number].rules.level;
    ++totals_.made;
    return id;
}

void Simulation::deliver(PacketId id) {
    const auto packet = pool_[id];
    pool_.give_back(id);
    ++totals_.arrived;
    auto &flow = flows_[packet.flow];
    auto *connection = flow.connection.get();
    if (packet.kind == Kind::data) {
        ++totals_.data_arrived;
        ++flow.record.arrived_packets;
        flow.record.marked_packets += packet.marked;
        if (flow.rules.kind != FlowKind::tcp) {
            flow.record.goodput += packet.size;
            if (flow.record.arrived_packets == flow.packets)
                flow.record.finished = now_;
            return;
        }
    }
    if (connection == nullptr)
        return;
    switch (packet.kind) {
    case Kind::data: {
        const auto answers = connection->receiver.received(packet, now_);
        if (connection->receiver.finished() && flow.record.finished == never)
            flow.record.finished = now_;
        for (std::uint8_t place = 0; place < answers.count; ++place)
            answer(packet.flow, answers.all[place]);
        arm(flow.receiver_wakes, connection->receiver.deadline(), timer_of_sender(packet.flow) + 1);
        break;
    }
    case Kind::acknowledgement:
        connection->sender.acknowledged(packet, now_);
        pump(packet.flow);
        break;
    case Kind::opening: {
        const auto reply = make(packet.flow, Kind::opened, flow.backward, scenario_.tcp[flow.rules.rules].header);
        pool_[reply].sent = packet.sent;
        forward(reply);
        break;
    }
    case Kind::opened:
        connection->sender.opened(now_, packet.sent);
        pump(packet.flow);
        break;
    }
}

void Simulation::start_flows() {
    for (; started_ < by_start_.size(); ++started_) {
        const auto flow = by_start_[started_];
        const auto start = flows_[flow].rules.start;
        if (start > now_)
            return queue_.push(start, start_source_);
        begin(flow);
    }
}

void Simulation::begin(std::uint32_t number) {
    auto &flow = flows_[number];
    if (flow.rules.kind != FlowKind::tcp)
        return send_unanswered(number);
    const auto &rules = scenario_.tcp[flow.rules.rules];
    flow.connection.reset(new Connection{TcpSender(rules, flow.packets), TcpReceiver(rules, flow.packets),
                                         std::vector<Time>(rules.card_packets, 0)});
    pump(number);
}

// Sends all segments that the window allows.
void Simulation::pump(std::uint32_t number) {
    auto &flow = flows_[number];
    auto &sender = flow.connection->sender;
    const auto &rules = scenario_.tcp[flow.rules.rules];
    while (!card_is_full(number)) {
        const auto next = sender.next(now_);
        if (next.what == TcpSender::Sends::nothing)
            break;
        if (next.what == TcpSender::Sends::opening) {
            forward(make(number, Kind::opening, flow.forward, rules.header));
            continue;
        }
        const auto id = make(number, Kind::data, flow.forward, rules.header + payload(flow, next.number));
        pool_[id].number = next.number;
        pool_[id].ecn_capable = rules.ecn;
        ++flow.record.sent_packets;
        forward(id);
        if (auto &leave = flow.connection->leave_card; !leave.empty()) {
            leave[flow.connection->oldest] = ports_[hops_[flow.forward]].free_at;
            flow.connection->oldest = (flow.connection->oldest + 1) % leave.size();
        }
    }
    if (sender.finished())
        return end(flow);
    arm(flow.sender_wakes, sender.deadline(), timer_of_sender(number));
}

// TCP small queues, as in Linux: a sender with enough packets in its host's card waits until half of them have left.
// The card's queue would otherwise grow with the window of a flow that nothing else limits. In cards with a scheduler
// the departure of packets is unknown: only the one in transmission counts.
bool Simulation::card_is_full(std::uint32_t number) {
    auto &flow = flows_[number];
    const auto &leave = flow.connection->leave_card;
    if (leave.empty() || leave[flow.connection->oldest] <= now_)
        return false;
    const auto half = leave[(flow.connection->oldest + (leave.size() - 1) / 2) % leave.size()];
    arm(flow.sender_wakes, half, timer_of_sender(number));
    return true;
}

void Simulation::end(Flow &flow) {
    flow.record.acknowledged = now_;
    flow.record.tcp = flow.connection->sender.counters();
    flow.record.goodput = flow.rules.bytes;
    flow.connection.reset();
    --unfinished_;
}

std::uint32_t Simulation::payload(const Flow &flow, std::uint32_t segment) const {
    return segment + 1 == flow.packets ? flow.last : scenario_.tcp[flow.rules.rules].payload;
}

void Simulation::sender_wakes(std::uint32_t number) {
    auto &flow = flows_[number];
    if (std::exchange(flow.sender_wakes, flow.sender_wakes == now_ ? never : flow.sender_wakes) != now_)
        return;
    if (flow.rules.kind != FlowKind::tcp)
        return send_unanswered(number);
    if (flow.connection == nullptr)
        return;
    auto &sender = flow.connection->sender;
    if (sender.deadline() <= now_)
        sender.timed_out(now_);
    pump(number);
}

void Simulation::receiver_wakes(std::uint32_t number) {
    auto &flow = flows_[number];
    if (std::exchange(flow.receiver_wakes, flow.receiver_wakes == now_ ? never : flow.receiver_wakes) != now_ ||
        flow.connection == nullptr)
        return;
    auto &receiver = flow.connection->receiver;
    if (receiver.deadline() <= now_)
        answer(number, receiver.timed_out());
    arm(flow.receiver_wakes, receiver.deadline(), timer_of_sender(number) + 1);
}

void Simulation::answer(std::uint32_t number, const TcpReceiver::Acknowledgement &acknowledgement) {
    const auto &flow = flows_[number];
    const auto size = scenario_.tcp[flow.rules.rules].header + sack_option(acknowledgement.blocks);
    const auto id = make(number, Kind::acknowledgement, flow.backward, size);
    auto &packet = pool_[id];
    packet.number = acknowledgement.number;
    packet.sent = acknowledgement.sent;
    packet.echo = acknowledgement.echo;
    packet.blocks = acknowledgement.blocks & 7;
    std::copy(acknowledgement.sacked.begin(), acknowledgement.sacked.end(), std::begin(packet.sacked));
    forward(id);
}

// Sends the packets of flows without acknowledgements.
void Simulation::send_unanswered(std::uint32_t number) {
    auto &flow = flows_[number];
    const bool listed = flow.rules.kind == FlowKind::listed;
    const auto time_of = [&](std::uint32_t packet) {
        return listed ? scenario_.lists[flow.rules.rules][packet].time
                      : flow.rules.start + Rate(flow.rules.bits_per_second).of(flow.rules.packet) * packet;
    };
    for (; flow.next < flow.packets; ++flow.next) {
        if (const auto time = std::max(time_of(flow.next), flow.rules.start); time > now_)
            return arm(flow.sender_wakes, time, timer_of_sender(number));
        const auto size = listed ? scenario_.lists[flow.rules.rules][flow.next].size
                                 : (flow.next + 1 == flow.packets ? flow.last : flow.rules.packet);
        const auto id = make(number, Kind::data, flow.forward, size);
        pool_[id].number = flow.next;
        pool_[id].ecn_capable = listed && scenario_.lists[flow.rules.rules][flow.next].ecn_capable;
        ++flow.record.sent_packets;
        forward(id);
    }
    --unfinished_;
}

} // namespace kuijia::packet
