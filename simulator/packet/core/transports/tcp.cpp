#include "transports/tcp.hpp"

#include <algorithm>
#include <iterator>

namespace kuijia::packet {

namespace {

// Returns the bytes of the SACK option: two and eight per block (RFC 2018), padded to four as all TCP options.
std::uint32_t sack_option(std::uint32_t blocks) { return blocks > 0 ? 4 + 8 * blocks : 0; }

} // namespace

std::unique_ptr<Transport> TcpRules::transport(const FlowRules &flow) const {
    return std::make_unique<Tcp>(*this, flow);
}

Tcp::Tcp(const TcpRules &rules, const FlowRules &flow)
    : rules_(rules), bytes_(flow.bytes), segments_(static_cast<std::uint32_t>(rules.packets(flow.bytes))),
      last_(last_of(flow.bytes, rules.payload)), sender_(rules, segments_), receiver_(rules, segments_),
      resequencer_(rules.resequencing > 0 ? std::make_unique<Resequencer>(rules) : nullptr),
      leave_card_(rules.nic_packets, 0) {}

void Tcp::receive(Host &host, const Packet &packet) {
    switch (packet.kind) {
    case Kind::data:
        resequencer_ == nullptr ? take(host, packet) : arrive(host, packet);
        wake_receiver(host);
        break;
    case Kind::acknowledgement:
        sender_.acknowledged(packet, host.now(), host.random());
        pump(host);
        break;
    case Kind::syn: {
        const auto reply = host.make(Way::backward, Kind::syn_ack, rules_.header);
        reply.packet.sent = packet.sent;
        host.send(reply.id);
        break;
    }
    case Kind::syn_ack:
        sender_.syn_acknowledged(host.now(), packet.sent);
        pump(host);
        break;
    default: // of other transports
        break;
    }
}

void Tcp::wake(Host &host, unsigned timer) {
    if (timer == of_sender) {
        if (sender_.deadline() <= host.now()) {
            sender_.timed_out(host.now());
            host.timed_out();
        }
        return pump(host);
    }
    if (resequencer_ != nullptr)
        for (const auto &packet : resequencer_->due(host.now()))
            take(host, packet);
    if (receiver_.deadline() <= host.now())
        answer(host, receiver_.timed_out());
    wake_receiver(host);
}

void Tcp::wake_receiver(Host &host) {
    const auto held = resequencer_ != nullptr ? resequencer_->deadline() : never;
    host.wake_at(of_receiver, std::min(receiver_.deadline(), held));
}

// A segment comes from the network.
void Tcp::arrive(Host &host, const Packet &packet) {
    for (const auto &passed : resequencer_->received(packet, host.now()))
        take(host, passed);
}

// A segment comes to the receiver.
void Tcp::take(Host &host, const Packet &packet) {
    const auto answers = receiver_.received(packet, host.now());
    if (receiver_.finished() && !complete_) {
        complete_ = true;
        host.complete();
    }
    for (std::uint8_t place = 0; place < answers.count; ++place)
        answer(host, answers.all[place]);
}

// Sends all segments that the window and the pace allow.
void Tcp::pump(Host &host) {
    while (!card_is_full(host) && !is_paced(host)) {
        const auto next = sender_.next(host.now());
        if (next.what == TcpSender::Sends::nothing)
            break;
        if (next.what == TcpSender::Sends::syn) {
            host.send(host.make(Way::forward, Kind::syn, rules_.header).id);
            continue;
        }
        const auto payload = next.number + 1 == segments_ ? last_ : rules_.payload;
        const auto segment = host.make(Way::forward, Kind::data, rules_.header + payload, next.number, next.again);
        segment.packet.ecn_capable = rules_.ecn_capable();
        host.send(segment.id);
        if (!leave_card_.empty()) {
            leave_card_[oldest_] = host.card_free_at();
            oldest_ = (oldest_ + 1) % leave_card_.size();
        }
    }
    if (sender_.finished())
        return host.finish(true);
    host.wake_at(of_sender, sender_.deadline());
}

// TCP small queues, as in Linux: a sender with enough packets in its host's card waits until half of them have left.
// The card's queue would otherwise grow with the window of a flow that nothing else limits. In cards with a discipline
// other than one queue the departure of packets is unknown: only the one in transmission counts.
bool Tcp::card_is_full(Host &host) {
    if (leave_card_.empty() || leave_card_[oldest_] <= host.now())
        return false;
    const auto half = leave_card_[(oldest_ + (leave_card_.size() - 1) / 2) % leave_card_.size()];
    // A link that failed has emptied the card: packets sent since may leave before those of the time before it.
    host.wake_at(of_sender, half > host.now() ? half : leave_card_[oldest_]);
    return true;
}

// Returns true if the next segment must wait for its turn, and wakes the sender then.
bool Tcp::is_paced(Host &host) {
    if (sender_.paced_until() <= host.now())
        return false;
    host.wake_at(of_sender, sender_.paced_until());
    return true;
}

void Tcp::answer(Host &host, const TcpReceiver::Acknowledgement &acknowledgement) {
    const auto size = rules_.header + sack_option(acknowledgement.blocks);
    const auto made = host.make(Way::backward, Kind::acknowledgement, size);
    made.packet.number = acknowledgement.number;
    if (rules_.prior_acks)
        made.packet.level = 0;
    made.packet.sent = acknowledgement.sent;
    made.packet.path = acknowledgement.path;
    made.packet.echo = acknowledgement.echo;
    made.packet.blocks = acknowledgement.blocks & 3;
    std::copy(acknowledgement.sacked.begin(), acknowledgement.sacked.end(), std::begin(made.packet.sacked));
    host.send(made.id);
}

TransportCounters Tcp::counters() const {
    const auto segments = std::uint64_t{receiver_.in_order()};
    const auto &sent = sender_.counters();
    return {receiver_.finished() ? bytes_ : segments * rules_.payload,
            sent.retransmitted,
            sent.timeouts,
            sent.recoveries,
            sender_.outstanding(),
            sender_.window(),
            sender_.round_trip()};
}

} // namespace kuijia::packet
