// Headers that switches match and change, by number: the TOS byte of a packet, and the labels on it.
//
// Numbers below 256 are the TOS bytes of packets without labels. A label on a header makes another header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace kuijia::packet {

inline constexpr unsigned header_bits = 24;
inline constexpr std::uint32_t no_header = 1u << header_bits;

class Headers {
  public:
    static constexpr std::uint32_t plain = 256;

    static std::uint32_t of(std::uint32_t dscp, std::uint32_t ecn) { return dscp << 2 | ecn; }
    static bool has_label(std::uint32_t header) { return header >= plain; }

    // The label with its traffic class, as label * 8 + class, of a header that has one.
    std::uint32_t label(std::uint32_t header) const { return labelled_[header - plain].value; }
    std::uint32_t tos(std::uint32_t header) const { return has_label(header) ? labelled_[header - plain].tos : header; }

    // Returns the header under the outermost label, or the header itself if it has none.
    std::uint32_t pop(std::uint32_t header) const {
        return has_label(header) ? labelled_[header - plain].below : header;
    }

    // Returns the header with one more label; `no_header` if there are too many different ones.
    std::uint32_t push(std::uint32_t header, std::uint32_t value) {
        const auto [found, is_new] = numbers_.try_emplace(std::uint64_t{header} << 32 | value, plain + count());
        if (is_new) {
            if (found->second >= no_header) {
                numbers_.erase(found);
                return no_header;
            }
            labelled_.push_back({header, value, tos(header)});
        }
        return found->second;
    }

  private:
    struct Labelled {
        std::uint32_t below;
        std::uint32_t value;
        std::uint32_t tos;
    };

    std::uint32_t count() const { return static_cast<std::uint32_t>(labelled_.size()); }

    std::vector<Labelled> labelled_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

} // namespace kuijia::packet
