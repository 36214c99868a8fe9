// TCP over the simulated network: segments, acknowledgements and the handshake as packets, and the limit of the card.
#pragma once

#include "transports/resequencer.hpp"
#include "transports/tcp_receiver.hpp"
#include "transports/tcp_rules.hpp"
#include "transports/tcp_sender.hpp"
#include "transports/transport.hpp"

#include <vector>

namespace kuijia::packet {

class Tcp final : public Transport {
  public:
    Tcp(const TcpRules &rules, const FlowRules &flow);

    void start(Host &host) override { pump(host); }
    void receive(Host &host, const Packet &packet) override;
    void wake(Host &host, unsigned timer) override;
    TransportCounters counters() const override;

  private:
    enum Timer : unsigned { of_sender, of_receiver };

    void pump(Host &host);
    bool card_is_full(Host &host);
    bool is_paced(Host &host);
    void arrive(Host &host, const Packet &packet);
    void take(Host &host, const Packet &packet);
    void wake_receiver(Host &host);
    void answer(Host &host, const TcpReceiver::Acknowledgement &acknowledgement);

    const TcpRules &rules_;
    std::uint64_t bytes_;
    std::uint32_t segments_;
    std::uint32_t last_; // bytes of payload in the last of them
    bool complete_ = false;
    TcpSender sender_;
    TcpReceiver receiver_;
    std::unique_ptr<Resequencer> resequencer_; // if the rules want one
    std::vector<Time> leave_card_;             // when each of the last packets leaves the host's card
    std::size_t oldest_ = 0;                   // index of the oldest of these
};

} // namespace kuijia::packet
