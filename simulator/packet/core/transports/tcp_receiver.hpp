// The receiving half of a TCP connection: arrived segments and their acknowledgement.
#pragma once

#include "packets.hpp"
#include "ranges.hpp"
#include "tcp_rules.hpp"
#include "units.hpp"

#include <array>

namespace kuijia::packet {

class TcpReceiver {
  public:
    TcpReceiver(const TcpRules &rules, std::uint32_t segments) : rules_(&rules), segments_(segments) {}

    // One segment can cause two acknowledgements: one for earlier segments, whose mark differs, and its own.
    struct Acknowledgement {
        std::uint32_t number; // first missing segment
        Time sent;            // when the segment that it answers was sent
        std::uint16_t path;   // that of this segment
        bool echo;
        std::uint8_t blocks;
        std::array<Range, most_blocks> sacked;
    };
    struct Acknowledgements {
        std::uint8_t count = 0;
        std::array<Acknowledgement, 2> all;
    };

    Acknowledgements received(const Packet &packet, Time now);

    // Returns when `timed_out` must be called; `never` while no acknowledgement is held back.
    Time deadline() const { return deadline_; }
    Acknowledgement timed_out();

    bool finished() const { return missing_ == segments_; }
    std::uint32_t in_order() const { return missing_; }

  private:
    // Of a segment: when it was sent, and on which path.
    struct Origin {
        Time sent;
        std::uint16_t path;
    };

    Acknowledgement acknowledgement(Origin origin);
    void note_block(Range block);

    const TcpRules *rules_;
    std::uint32_t segments_;
    std::uint32_t missing_ = 0; // RCV.NXT
    std::uint32_t held_ = 0;    // segments whose acknowledgement is held back
    Origin held_origin_{};      // of the first of them (RFC 7323 section 4.3)
    Time deadline_ = never;
    bool marked_ = false; // DCTCP.CE of RFC 8257 section 3.2
    std::uint8_t blocks_ = 0;
    std::array<std::uint32_t, most_blocks> recent_{}; // a segment of each of the last blocks, the newest first
    RangeSet beyond_;
};

} // namespace kuijia::packet
