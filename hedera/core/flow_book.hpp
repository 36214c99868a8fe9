// Record of each flow at the last poll of its switch: its counter and its label.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kuijia::hedera {

// Answers of switches to one poll: flows grouped by switch.
struct Poll {
    double time;                            // in seconds
    std::span<const std::int32_t> switches; // that have answered, each once
    std::span<const std::int64_t> first;    // where the flows of each begin, and the end of the last
    std::span<const std::uint64_t> key;     // of each flow, unique within a switch
    std::span<const std::uint64_t> bytes;   // its counter
    std::span<const double> age;            // seconds since the counter began
};

struct Reading {
    std::vector<double> rate;        // Mbit/s of each flow since the previous poll
    std::vector<std::int32_t> label; // label that `note` set for each flow after the previous poll, or -1
};

class FlowBook {
  public:
    explicit FlowBook(std::int32_t switches);

    // Returns the rates and labels of the flows in a poll. A counter that has decreased has restarted. Flows that a
    // switch no longer reports are forgotten; switches that have not answered keep their state. Throws
    // std::invalid_argument, saying what is wrong, and then changes nothing.
    Reading read(const Poll &poll);

    // Sets the labels of the flows of the last poll, in its order.
    void note(std::span<const std::int32_t> label);

  private:
    struct Entry {
        std::uint64_t key, bytes;
        std::int32_t label;
        bool taken;
    };
    // An open-addressed table, at most half full.
    struct Switch {
        std::vector<Entry> entries, before;
        double time = 0;
        bool polled = false;
    };

    void validate(const Poll &poll) const;
    void read_switch(Switch &polled, const Poll &poll, std::size_t begin, std::size_t end, Reading &reading);

    std::vector<Switch> switches_;
    std::vector<std::int32_t> switch_of_; // of each flow of the last poll
    std::vector<std::int32_t> entry_of_;
};

} // namespace kuijia::hedera
