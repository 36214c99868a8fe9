#include "transports/credited.hpp"

namespace kuijia::packet {

namespace {

constexpr std::uint8_t most_doublings = 8;

} // namespace

Credited::Credited(const CreditedRules &rules, const FlowRules &flow)
    : segments_(static_cast<std::uint32_t>(rules.packets(flow.bytes))), rules_(rules),
      last_(last_of(flow.bytes, rules.payload)), arrived_(segments_.count()), is_early_(rules.early) {}

void Credited::start(Host &host) {
    next_early_ = host.now();
    patience_ = host.now() + rules_.timeout;
    begin(host);
    go(host);
}

void Credited::receive(Host &host, const Packet &packet) {
    if (packet.backward) {
        if (packet.kind == Kind::credit) {
            for (std::uint8_t block = 0; block < packet.blocks; ++block)
                credits_ += packet.sacked[block].size();
            segments_.acknowledged(packet);
            end_early(host);
            take_credits(host, packet);
        } else if (packet.kind == Kind::acknowledgement) {
            segments_.acknowledged(packet);
        } else if (packet.kind == Kind::request) {
            segments_.go_back(packet.number);
        } else if (packet.kind == Kind::probe) {
            segments_.acknowledged(packet);
            if (packet.sent == probe_sent_)
                segments_.probe_answered(probe_);
        }
        if (packet.kind != Kind::credit ||
            segments_.waiting() > 0) // credits without use tell nothing of what is missing
            heard(host);
        return go(host);
    }
    if (packet.kind == Kind::data)
        take_data(host, packet);
    else if (packet.kind == Kind::probe)
        answer_probe(host, packet);
    else
        answer(host, packet);
    host.wake_at(of_receiver, receiver_deadline());
}

void Credited::wake(Host &host, unsigned timer) {
    if (timer == of_sender)
        return go(host);
    if (receiver_deadline() <= host.now())
        answer_due(host);
    host.wake_at(of_receiver, receiver_deadline());
}

// Does all that the sender has to do by now.
void Credited::go(Host &host) {
    if (finished_)
        return;
    if (segments_.finished()) {
        finished_ = true;
        return host.finish(true);
    }
    send_early(host);
    send_due(host);
    const bool is_last = !is_probed_ && segments_.waiting() == 0;
    if (patience_ <= host.now()) {
        ++timeouts_;
        host.timed_out();
        backoff_ = std::min<std::uint8_t>(backoff_ + 1, most_doublings);
        patience_ = host.now() + (std::max(rules_.timeout, 2 * round_trip_) << backoff_);
        fell_silent(host);
        send_probe(host);
    } else if (is_last) {
        send_probe(host);
    }
    const auto early = is_early_ ? next_early_ : never;
    host.wake_at(of_sender, std::min({early, sender_deadline(), patience_}));
}

void Credited::heard(Host &host) {
    backoff_ = 0;
    patience_ = host.now() + std::max(rules_.timeout, 2 * round_trip_);
}

Host::Outgoing Credited::small(Host &host, Way way, Kind kind, Level level, std::uint32_t size) const {
    const auto made = host.make(way, kind, size);
    made.packet.level = level;
    made.packet.ecn_capable = true;
    return made;
}

void Credited::send(Host &host, std::uint32_t number, bool scheduled, const Packet *credit) {
    const auto payload = number + 1 == segments_.count() ? last_ : rules_.payload;
    const auto made = host.make(Way::forward, Kind::data, rules_.header + payload);
    made.packet.number = number;
    made.packet.level = of_data;
    made.packet.ecn_capable = scheduled;
    if (credit != nullptr) {
        made.packet.sent = credit->sent;
        made.packet.sacked[0] = credit->sacked[0];
        made.packet.blocks = 1;
    }
    host.send(made.id);
    is_probed_ = false;
}

bool Credited::send_with_credit(Host &host, const Packet *credit) {
    const auto number = segments_.take();
    if (number)
        send(host, *number, true, credit);
    return number.has_value();
}

// The data queues let this much through that no credit asks for.
void Credited::send_early(Host &host) {
    while (is_early_ && next_early_ <= host.now()) {
        if (segments_.never_sent() == 0 || (rules_.early_limit > 0 && early_sent_ >= rules_.early_limit))
            return end_early(host);
        send(host, segments_.take_new(), false, nullptr);
        ++early_sent_;
        const auto rate = static_cast<double>(host.card_rate(Way::forward)) * (1 - rules_.share);
        next_early_ += time_of(rules_.header + rules_.payload, std::max(rate, 1.0));
    }
}

void Credited::end_early(Host &host) {
    if (is_early_ && !is_probed_)
        send_probe(host);
    is_early_ = false;
}

void Credited::send_probe(Host &host) {
    const auto made = small(host, Way::forward, Kind::probe, of_data, rules_.control);
    probe_ = segments_.probed();
    probe_sent_ = host.now();
    host.send(made.id);
    is_probed_ = true;
}

void Credited::take_data(Host &host, const Packet &packet) {
    if (rules_.go_back && packet.ecn_capable && packet.number > arrived_.missing()) {
        if (packet.blocks > 0)
            credited_data(host, packet);
        return ask_again(host);
    }
    if (packet.number == arrived_.missing())
        asked_again_ = never;
    const auto news = arrived_.received(packet.number);
    if (news.is_new)
        goodput_ += packet.number + 1 == segments_.count() ? last_ : rules_.payload;
    if (arrived_.finished() && !complete_) {
        complete_ = true;
        host.complete();
    }
    if (packet.blocks > 0)
        credited_data(host, packet);
    if (arrived_.finished())
        return acknowledge(host, Kind::acknowledgement, arrived_.missing(), nullptr, 0);
    if (packet.ecn_capable && !news.leaves_gap)
        return;
    if (packet.number < arrived_.missing())
        return acknowledge(host, Kind::acknowledgement, arrived_.missing(), nullptr, 0);
    // The range before has grown since it was reported: without it, all of its later segments would seem lost.
    const auto &ranges = arrived_.beyond().ranges();
    const auto place = std::partition_point(ranges.begin(), ranges.end(),
                                            [&](const Range &range) { return range.end <= packet.number; });
    const auto first = place == ranges.begin() ? place : place - 1;
    acknowledge(host, Kind::acknowledgement, arrived_.missing(), &*first, static_cast<std::uint8_t>(place - first + 1));
}

void Credited::ask_again(Host &host) {
    if (asked_again_ != never && host.now() - asked_again_ < rules_.timeout)
        return;
    asked_again_ = host.now();
    const auto made = small(host, Way::backward, Kind::request, of_control, rules_.control);
    made.packet.number = arrived_.missing();
    host.send(made.id);
}

// The last of the answers returns the probe.
void Credited::answer_probe(Host &host, const Packet &packet) {
    const auto &ranges = arrived_.beyond().ranges();
    std::size_t place = 0;
    for (; place + most_blocks < ranges.size(); place += most_blocks)
        acknowledge(host, Kind::acknowledgement, arrived_.missing(), ranges.data() + place, most_blocks);
    const auto left = static_cast<std::uint8_t>(ranges.size() - place);
    const auto made = small(host, Way::backward, Kind::probe, of_control, rules_.control);
    made.packet.sent = packet.sent;
    made.packet.number = arrived_.missing();
    made.packet.blocks = left & 3;
    std::copy_n(ranges.begin() + static_cast<std::ptrdiff_t>(place), left, made.packet.sacked);
    host.send(made.id);
}

void Credited::acknowledge(Host &host, Kind kind, std::uint32_t number, const Range *blocks, std::uint8_t count) const {
    const auto made = small(host, Way::backward, kind, of_control, rules_.control);
    made.packet.number = number;
    made.packet.blocks = count & 3;
    std::copy_n(blocks, count, made.packet.sacked);
    host.send(made.id);
}

TransportCounters Credited::counters() const {
    TransportCounters all;
    all.goodput = goodput_;
    all.retransmitted = segments_.retransmitted();
    all.timeouts = timeouts_;
    all.outstanding = segments_.outstanding();
    all.round_trip = round_trip_;
    all.offered = offered_;
    all.credits = credits_;
    all.unused = unused_;
    return all;
}

} // namespace kuijia::packet
