// Runs arbitrary networks by windows and event by event, steers both alike, and compares the results.
#include "drawing.hpp"
#include "fuzzing.hpp"
#include "same_results.hpp"
#include "simulation.hpp"
#include "wan_generator.hpp"

#include <algorithm>
#include <variant>

namespace {

using namespace kuijia::packet;

class Generator : public WanGenerator {
  public:
    using WanGenerator::WanGenerator;

    // Simple queues everywhere, and links from switches that have a delay.
    Scenario without_draws() {
        auto scenario = wan();
        for (auto &queueing : scenario.queueings)
            queueing = simple_queue();
        for (std::uint32_t link = 0; link < scenario.links.size(); link += 2) // the others may come from hosts
            scenario.links[link].delay = std::max(scenario.links[link].delay, microseconds(1 + below(20)));
        if (below(3) == 0) {
            scenario.probed = {below(scenario.links.size()), below(scenario.links.size())};
            scenario.probed_every = microseconds(1 + below(5'000));
        }
        return scenario;
    }

  private:
    static Time microseconds(std::uint32_t count) { return count * (second / 1'000'000); }

    FifoRules simple_queue() {
        FifoRules rules;
        rules.limit = 2'000 + below(40'000);
        if (below(2) == 0)
            rules.marking = ThresholdRules{below(20'000), below(2) == 0};
        return rules;
    }
};

// A route that nobody takes, over a link that begins others, and goes on: packets then are events.
std::vector<std::uint32_t> ambiguous(const Scenario &scenario) {
    const auto link = scenario.routes.front().front();
    return {link, link};
}

void run(Generator &generator) {
    constexpr std::uint64_t most_events = 30'000; // or some more
    constexpr std::uint64_t any_number = std::uint64_t{1} << 40;
    auto scenario = generator.without_draws();
    if (scenario.routes.empty())
        return;
    Simulation by_windows(scenario);
    scenario.routes.push_back(ambiguous(scenario));
    Simulation by_events(scenario);
    require(by_windows.by_windows() ||
                std::ranges::all_of(scenario.routes, [](auto &route) { return route.size() < 2; }),
            "there are no windows");
    require(!by_events.by_windows(), "there are windows");
    for (bool over = false; !over && by_windows.events() < most_events;) {
        over = by_windows.run(by_windows.now() + generator.below(second / 50), 1 + generator.below(3'000)) &&
               generator.below(40) == 0;
        by_events.run(by_windows.now(), any_number);
        compare(by_windows, by_events);
        if (generator.below(8) == 0) {
            const auto link = generator.below(by_windows.links());
            const auto up = generator.below(2) == 0;
            by_windows.set_link(link, up);
            by_events.set_link(link, up);
        }
        if (generator.below(30) == 0) { // from now on both have events
            by_windows.add_paths({ambiguous(scenario)}, {});
            require(!by_windows.by_windows(), "windows go on");
        }
        compare(by_windows, by_events);
    }
}

} // namespace

int main(int, char **arguments) {
    return kuijia::fuzz<Generator>(arguments, [](Generator &generator, bool) { run(generator); });
}
