// Problem and outcome of sharing links among flows: plain data, without Python.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kuijia::flow {

// Returns a number that is not negative as an index.
template <std::signed_integral Number> constexpr std::size_t at(Number number) {
    return static_cast<std::size_t>(number);
}

// L links and F flows; docs/flow_model.md explains the model.
struct Problem {
    std::span<const double> capacity;      // of each link, L
    std::span<const std::int64_t> first;   // where each flow's links begin in `links`, and where the last ends: F + 1
    std::span<const std::int32_t> links;   // of one flow after the other, from ingress to egress
    std::span<const double> offered;       // F; infinite for an elastic flow that takes all it can get
    std::span<const double> weight;        // F; weight of an elastic flow within its class
    std::span<const std::int32_t> level;   // F; lower ones are served first
    std::span<const std::uint8_t> elastic; // F

    std::size_t flows() const { return offered.size(); }
    std::size_t size() const { return capacity.size(); }
    std::span<const std::int32_t> path(std::size_t flow) const {
        return links.subspan(at(first[flow]), at(first[flow + 1] - first[flow]));
    }
};

struct Outcome {
    std::vector<double> goodput; // of each flow
    std::vector<double> load;    // carried by each link
    std::vector<double> dropped; // of inelastic flows, at each link
    bool settled = true;         // the losses of inelastic flows have reached a fixed point
};

// Throws std::invalid_argument, naming the wrong entry and what is expected.
void validate(const Problem &problem);

// Validates the problem, then serves the levels in order, within each the inelastic flows before the elastic ones.
Outcome share(const Problem &problem);

} // namespace kuijia::flow
