// Random numbers, identical on every machine: xoshiro256++ (Blackman and Vigna, 2021) seeded by splitmix64, and
// distributions made of operations that IEEE 754 rounds exactly.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace kuijia::packet {

// Returns a well-mixed hash of a number: the finaliser of splitmix64.
constexpr std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

// Returns the natural logarithm of a positive number, to a few units in the last place. The library's result differs
// between machines in that place.
inline double logarithm(double value) {
    int exponent = 0;
    double mantissa = std::frexp(value, &exponent);
    if (mantissa < 0.70710678118654752) {
        mantissa *= 2;
        --exponent;
    }
    const double ratio = (mantissa - 1) / (mantissa + 1);
    const double square = ratio * ratio;
    double sum = 0;
    for (int power = 25; power >= 1; power -= 2)
        sum = sum * square + 1.0 / power;
    return exponent * 0.69314718055994531 + 2 * ratio * sum;
}

class Random {
  public:
    explicit Random(std::uint64_t seed) {
        for (auto &word : state_)
            word = mixed(seed += 0x9e3779b97f4a7c15);
    }

    std::uint64_t next() {
        const auto result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const auto shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    // Returns a whole number in [0, bound), all equally likely (Lemire, 2019).
    std::uint64_t below(std::uint64_t bound) {
        auto product = static_cast<unsigned __int128>(next()) * bound;
        if (static_cast<std::uint64_t>(product) < bound)
            for (const auto least = (0 - bound) % bound; static_cast<std::uint64_t>(product) < least;)
                product = static_cast<unsigned __int128>(next()) * bound;
        return static_cast<std::uint64_t>(product >> 64);
    }

    // Returns a number in [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // Returns a number of the exponential distribution with mean 1.
    double exponential() { return -logarithm(1 - unit()); }

    // Returns a number of the normal distribution with mean 0 and variance 1, by Marsaglia's polar method.
    double normal() {
        for (;;) {
            const double x = 2 * unit() - 1;
            const double y = 2 * unit() - 1;
            const double square = x * x + y * y;
            if (square > 0 && square < 1)
                return x * std::sqrt(-2 * logarithm(square) / square);
        }
    }

  private:
    std::array<std::uint64_t, 4> state_{};
};

} // namespace kuijia::packet
