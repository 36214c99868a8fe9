// Hook for tests that follow packets: KUIJIA_PACKET_TRACE names a header with their class. Otherwise it does nothing.
#pragma once

#include "packets.hpp"

#ifdef KUIJIA_PACKET_TRACE
#include KUIJIA_PACKET_TRACE
#else

namespace kuijia::packet {

struct Trace {
    void sent(PacketId) {}
    void offered(PacketId, std::uint32_t, std::uint8_t) {} // to a link, with a level
    void received(PacketId, const Packet &) {}
};

} // namespace kuijia::packet

#endif
