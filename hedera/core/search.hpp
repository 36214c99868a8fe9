// Common parts of both searches: random numbers, the energy of a state, and the acceptance of worse states.
#pragma once

#include "kept_memory.hpp"
#include "routes.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kuijia::hedera {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        auto word = state_ += 0x9e3779b97f4a7c15;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
        word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
        return word ^ (word >> 31);
    }

    std::int32_t below(std::int32_t size) {
        return static_cast<std::int32_t>(((next() >> 32) * static_cast<std::uint64_t>(size)) >> 32);
    }

    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    bool operator==(const Random &) const = default;

  private:
    std::uint64_t state_;
};

struct Schedule {
    std::int32_t iterations;
    double greed; // worse states are accepted with probability exp(-greed * excess * iterations / left)
    double unit;  // amount that counts as 1 for the excess in this formula
    std::uint64_t seed;
};

// exp(-hopeless) is less than any random number except zero.
constexpr double hopeless = 40;

class Acceptance {
  public:
    explicit Acceptance(const Schedule &schedule) : greed_(schedule.greed * schedule.iterations / schedule.unit) {}

    bool accepts(std::int64_t worse, std::int32_t left, Random &random) const {
        const double greed = static_cast<double>(worse) * greed_;
        return greed < hopeless * left && std::exp(-greed / left) > random.unit();
    }

  private:
    double greed_; // for the last iteration
};

struct Annealed {
    std::int64_t before, after; // energy: total excess load of links plus fees
    std::int32_t improvements;  // number of times that a new best state was found
};

// Remaining capacity of links, and its energy. The changes of an edit can be undone.
class Links {
  public:
    explicit Links(std::span<const std::int32_t> capacity) { spare_.assign(capacity.begin(), capacity.end()); }

    void fill(std::int32_t link, std::int32_t by) { spare_[at(link)] -= by; }

    std::int64_t exceeded() const {
        std::int64_t sum = 0;
        for (const auto spare : spare_)
            sum += excess(spare);
        return sum;
    }

    struct Change {
        std::int32_t link, spare; // value before the change
    };

    // Changes links one after the other. Its data stay in registers: this is the inner loop of both searches.
    class Edit {
      public:
        Edit(std::int32_t *spare, Change *end) : spare_(spare), end_(end) {}

        void operator()(std::int32_t link, std::int32_t by) {
            auto &spare = spare_[link];
            *end_++ = {link, spare};
            more_ -= excess(spare);
            spare -= by;
            more_ += excess(spare);
        }

        std::int64_t more() const { return more_; } // change of the excess load

      private:
        friend class Links;
        std::int32_t *spare_;
        Change *end_;
        std::int64_t more_ = 0;
    };

    // Returns an edit of at most `changes` changes.
    Edit edit(std::size_t changes) {
        if (changes_.size() < changes)
            changes_.resize(2 * changes);
        return {spare_.data(), changes_.data()};
    }

    void take_back(const Edit &edit) {
        for (const auto *change = edit.end_; change != changes_.data();) {
            --change;
            spare_[at(change->link)] = change->spare;
        }
    }

  private:
    static std::int64_t excess(std::int32_t spare) { return spare < 0 ? -static_cast<std::int64_t>(spare) : 0; }

    Kept<std::int32_t> spare_; // remaining capacity of each link, negative under excess load
    Kept<Change> changes_;
};

// Throws std::invalid_argument, naming the wrong entry.
template <class Routes>
void require_placeable(const Routes &routes, std::span<const std::int32_t> amount,
                       std::span<const std::int32_t> capacity, const Schedule &schedule);

} // namespace kuijia::hedera
