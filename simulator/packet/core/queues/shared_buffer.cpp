#include "queues/shared_buffer.hpp"

namespace kuijia::packet {

std::unique_ptr<Discipline> SharedBufferRules::discipline(const Site &site) const {
    if (site.shared == nullptr)
        site.shared = std::make_shared<SharedBuffer::Memory>();
    return std::make_unique<SharedBuffer>(*this, std::static_pointer_cast<SharedBuffer::Memory>(site.shared));
}

bool SharedBuffer::has_room(const Packet &packet) const {
    const auto left = total_ - memory_->used;
    return buffer_.room(packet) <= left && static_cast<double>(buffer_.bytes()) < alpha_ * static_cast<double>(left);
}

void SharedBuffer::offer(PacketId id, Arrival &arrival) {
    if (!has_room(arrival.pool[id]))
        return arrival.drop(id);
    const auto before = buffer_.bytes();
    buffer_.offer(id, arrival);
    memory_->used += buffer_.bytes() - before;
}

Choice SharedBuffer::choose(PacketPool &pool, Time now) {
    auto retry = never;
    const auto before = buffer_.bytes();
    const auto id = buffer_.take_if_due(pool, now, retry);
    memory_->used -= before - buffer_.bytes();
    return {id, retry};
}

PacketId SharedBuffer::flush(PacketPool &pool, Time now) {
    if (buffer_.empty())
        return no_packet;
    const auto before = buffer_.bytes();
    const auto id = buffer_.take(pool, now);
    memory_->used -= before - buffer_.bytes();
    return id;
}

} // namespace kuijia::packet
