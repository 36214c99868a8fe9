// The loop that drivers of all compiled cores share: numbered cases, a third of them spoilt.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace kuijia {

// Calls `attempt` with a generator seeded by the case's number and whether the input is to be spoilt. Only spoilt input
// may be refused, by std::invalid_argument; any other std::logic_error is a fault. Returns the program's exit status.
template <typename Generator, typename Attempt> int fuzz(char **arguments, const Attempt &attempt) {
    const auto cases = std::strtoull(arguments[1], nullptr, 10);
    unsigned long long refused = 0;
    for (unsigned long long number = 0; number < cases; ++number) {
        Generator generator(number);
        const bool spoilt = generator.below(3) == 0;
        try {
            attempt(generator, spoilt);
        } catch (const std::invalid_argument &refusal) {
            ++refused;
            if (!spoilt) {
                std::fprintf(stderr, "case %llu: sound input was refused: %s\n", number, refusal.what());
                return 1;
            }
        } catch (const std::logic_error &fault) {
            std::fprintf(stderr, "case %llu: %s\n", number, fault.what());
            return 1;
        }
    }
    std::printf("%llu cases, %llu refused\n", cases, refused);
    return 0;
}

} // namespace kuijia
