// What compilers offer for speed alone: prefetching, and functions that are always inlined or never.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __GNUC__
#define KUIJIA_ALWAYS_INLINE [[gnu::always_inline]] inline
#define KUIJIA_NEVER_INLINE [[gnu::noinline]]
#else
#define KUIJIA_ALWAYS_INLINE inline
#define KUIJIA_NEVER_INLINE
#endif

namespace kuijia::packet {

inline constexpr std::size_t cache_line = 64;

// Brings cache lines nearer, whatever is there. Compilers leave out calls of functions that do nothing else, hence the
// assembly.
inline void fetch([[maybe_unused]] const void *address, [[maybe_unused]] std::size_t bytes = cache_line) {
#ifdef __GNUC__
    for (std::size_t byte = 0; byte < bytes; byte += cache_line)
        __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(address) + byte));
    asm volatile("");
#endif
}

} // namespace kuijia::packet
