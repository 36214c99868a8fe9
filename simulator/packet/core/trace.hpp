// Nothing in the simulator: the place where tests follow packets, by a class of this name in a header that they name.
#pragma once

#include "packets.hpp"

#ifdef KUIJIA_PACKET_TRACE
#include KUIJIA_PACKET_TRACE
#else

namespace kuijia::packet {

struct Trace {
    void sent(PacketId) {}
    void offered(PacketId, std::uint32_t) {} // to a link
    void received(PacketId, const Packet &) {}
};

} // namespace kuijia::packet

#endif
