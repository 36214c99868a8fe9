// Memory that a thread keeps between calls: fresh memory from the system would take as much time as the work in it.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

namespace kuijia::hedera {

inline std::pmr::memory_resource *kept_memory() {
    constexpr std::size_t largest = std::size_t{1} << 22; // bytes of the largest block that is kept
    thread_local std::pmr::unsynchronized_pool_resource pool(std::pmr::pool_options{1, largest});
    return &pool;
}

// A vector in kept memory.
template <class T> class Kept : public std::pmr::vector<T> {
  public:
    Kept() : std::pmr::vector<T>(kept_memory()) {}
    explicit Kept(std::size_t size, T value = {}) : std::pmr::vector<T>(size, value, kept_memory()) {}
};

} // namespace kuijia::hedera
