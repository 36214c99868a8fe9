// Kinds of forwarding and of path selection: an entry here is bound to Python, checked and fuzzed.
#pragma once

#include "routing/conga.hpp"
#include "routing/flow_cells.hpp"
#include "routing/flowlets.hpp"
#include "routing/forwarding.hpp"
#include "routing/label_switched.hpp"
#include "routing/path_choice.hpp"
#include "routing/random_paths.hpp"
#include "routing/switch_ecmp.hpp"

#include <variant>

namespace kuijia::packet {

using ForwardingRules = std::variant<SourceRoutedRules, SwitchEcmpRules, FlowletsRules, CongaRules, LabelSwitchedRules>;
using PathChoiceRules = std::variant<FixedPathRules, FlowCellsRules, RandomPathsRules>;

} // namespace kuijia::packet
