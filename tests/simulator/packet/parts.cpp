// Runs arbitrary networks of several sites in parts by two threads, and as a whole by one, and compares the results.
#include "fuzzing.hpp"
#include "parted_simulation.hpp"
#include "same_results.hpp"
#include "wan_generator.hpp"

namespace {

using namespace kuijia::packet;

void run(WanGenerator &generator, const Scenario &scenario) {
    constexpr std::uint64_t most_events = 30'000; // or some more
    constexpr std::uint64_t any_number = std::uint64_t{1} << 40;
    constexpr int steps = 5;
    Simulation whole(scenario);
    PartedSimulation parts(scenario, 2);
    for (int step = 1; step <= steps && whole.events() < most_events; ++step) {
        const auto until = step < steps ? step * (second / 20) + generator.below(second / 20) : 5 * second;
        // Stopped anywhere, the parts are as far as the whole is at that time.
        while (!parts.run(until, 1 + generator.below(5'000)) && parts.events() < most_events) {
            whole.run(parts.now(), any_number);
            compare(whole, parts);
        }
        whole.run(parts.events() < most_events ? until : parts.now(), any_number);
        compare(whole, parts);
    }
}

} // namespace

int main(int, char **arguments) {
    return kuijia::fuzz<WanGenerator>(arguments,
                                      [](WanGenerator &generator, bool) { run(generator, generator.wan()); });
}
