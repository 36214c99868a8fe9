// The congestion controls of TCP: one of them is a part of every sender.
#pragma once

#include "transports/bbr.hpp"
#include "transports/congestion.hpp"
#include "transports/copa.hpp"
#include "transports/tcp_rules.hpp"
#include "transports/vegas.hpp"

#include <variant>

namespace kuijia::packet {

using CongestionControl = std::variant<Reno, Cubic, Dctcp, Vegas, Copa, Bbr>;

CongestionControl control_of(const TcpRules &rules);

} // namespace kuijia::packet
