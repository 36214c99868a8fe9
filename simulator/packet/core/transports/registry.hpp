// The transports: an entry here is bound to Python, checked and fuzzed.
#pragma once

#include "transports/constant_rate.hpp"
#include "transports/expresspass.hpp"
#include "transports/flashpass.hpp"
#include "transports/listed.hpp"
#include "transports/tcp_rules.hpp"

#include <variant>

namespace kuijia::packet {

using TransportRules = std::variant<TcpRules, ConstantRateRules, ListedRules, FlashPassRules, ExpressPassRules>;

} // namespace kuijia::packet
