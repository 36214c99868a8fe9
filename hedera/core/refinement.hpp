// Simulated annealing over the label of each flow, starting from the result of the one over destination hosts.
#pragma once

#include "routes.hpp"
#include "search.hpp"

namespace kuijia::hedera {

struct Flows {
    std::span<const std::int32_t> amount;
    std::span<std::int32_t> choice;     // label of each flow; in and out
    std::span<const std::int32_t> home; // label of each flow that costs no fee, or -1
    std::span<const std::int32_t> fee;  // fee of any other label, of each flow
};

template <class Routes> class Refinement {
  public:
    Refinement(const Routes &routes, std::span<const std::int32_t> capacity, Flows flows, Schedule schedule)
        : routes_(routes), links_(capacity), flows_(flows), schedule_(schedule), random_(schedule.seed),
          acceptance_(schedule) {
        for (std::size_t flow = 0; flow < routes.flows(); ++flow) {
            routes.path(flow, flows.choice[flow], [&](std::int32_t link) { links_.fill(link, flows.amount[flow]); });
            energy_ += fee(flow, flows.choice[flow]);
        }
        energy_ += links_.exceeded();
    }

    Annealed run() {
        Annealed told{energy_, energy_, 0};
        if (routes_.flows() == 0)
            return told;
        Kept<Step> since_best;
        for (auto left = schedule_.iterations; left > 0; --left) {
            const auto step = draw();
            if (step.from == step.to)
                continue;
            auto edit = links_.edit(4 * routes_.longest());
            auto fees = move(step.flow, step.from, step.to, edit);
            if (step.other != nobody)
                fees += move(step.other, step.to, step.from, edit);
            const auto worse = edit.more() + fees;
            if (worse > 0 && !acceptance_.accepts(worse, left, random_)) {
                links_.take_back(edit);
                continue;
            }
            energy_ += worse;
            choose(step, step.to, step.from);
            since_best.push_back(step);
            if (energy_ < told.after) {
                told.after = energy_;
                ++told.improvements;
                since_best.clear();
            }
        }
        for (; !since_best.empty(); since_best.pop_back())
            choose(since_best.back(), since_best.back().from, since_best.back().to);
        return told;
    }

  private:
    static constexpr std::int32_t nobody = -1;

    struct Step {
        std::int32_t flow, from, to;
        std::int32_t other; // flow that takes the old label in exchange, or none
    };

    // Draws a step: a flow takes any label, or exchanges labels with another flow.
    Step draw() {
        const auto flows = static_cast<std::int32_t>(routes_.flows());
        const bool is_exchange = random_.below(2) == 1;
        const auto flow = random_.below(flows), from = flows_.choice[at(flow)];
        if (!is_exchange)
            return {flow, from, random_.below(routes_.labels()), nobody};
        const auto other = random_.below(flows);
        return {flow, from, flows_.choice[at(other)], other};
    }

    // Moves a flow to another label. Returns the change of fees.
    std::int64_t move(std::int32_t flow, std::int32_t from, std::int32_t to, Links::Edit &edit) {
        const auto amount = flows_.amount[at(flow)];
        routes_.path(at(flow), from, [&](std::int32_t link) { edit(link, -amount); });
        routes_.path(at(flow), to, [&](std::int32_t link) { edit(link, amount); });
        return fee(at(flow), to) - fee(at(flow), from);
    }

    void choose(const Step &step, std::int32_t label, std::int32_t label_of_other) {
        flows_.choice[at(step.flow)] = label;
        if (step.other != nobody)
            flows_.choice[at(step.other)] = label_of_other;
    }

    std::int64_t fee(std::size_t flow, std::int32_t label) const {
        return label == flows_.home[flow] ? 0 : flows_.fee[flow];
    }

    const Routes &routes_;
    Links links_;
    Flows flows_;
    Schedule schedule_;
    Random random_;
    Acceptance acceptance_;
    std::int64_t energy_ = 0;
};

// Throws std::invalid_argument, naming the wrong entry.
template <class Routes>
Annealed refine(const Routes &routes, std::span<const std::int32_t> capacity, Flows flows, Schedule schedule) {
    require_placeable(routes, flows.amount, capacity, schedule);
    const auto size = routes.flows();
    if (flows.choice.size() != size || flows.home.size() != size)
        throw std::invalid_argument("choice and home: expected one for each flow");
    require_below("choice", flows.choice, at(routes.labels()));
    require_amounts("fee", flows.fee, size);
    return Refinement<Routes>(routes, capacity, flows, schedule).run();
}

} // namespace kuijia::hedera
