// Kinds of forwarding and of path selection: an entry here is bound to Python, checked and fuzzed.
#pragma once

#include "routing/clove_ecn.hpp"
#include "routing/conga.hpp"
#include "routing/flow_bender.hpp"
#include "routing/flow_cells.hpp"
#include "routing/flowlets.hpp"
#include "routing/forwarding.hpp"
#include "routing/hermes.hpp"
#include "routing/label_switched.hpp"
#include "routing/path_choice.hpp"
#include "routing/paths_in_turn.hpp"
#include "routing/random_paths.hpp"
#include "routing/switch_ecmp.hpp"
#include "routing/table_switched.hpp"

#include <variant>

namespace kuijia::packet {

using ForwardingRules =
    std::variant<SourceRoutedRules, SwitchEcmpRules, FlowletsRules, CongaRules, LabelSwitchedRules, TableSwitchedRules>;
using PathChoiceRules = std::variant<FixedPathRules, FlowCellsRules, RandomPathsRules, PathsInTurnRules,
                                     FlowBenderRules, CloveEcnRules, HermesRules>;

} // namespace kuijia::packet
