// DCTCP flows on given paths in csg-htsim. Input: a line for the network, one for each link, one for each flow. The
// last line of the output is JSON.
#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "pipe.h"
#include "route.h"

#include <ctime>
#include <iostream>
#include <memory>
#include <vector>

namespace {

constexpr int checked_every = 100; // events between two looks at the flows

struct Link {
    std::unique_ptr<ECNQueue> queue;
    std::unique_ptr<Pipe> pipe;
};

struct Flow {
    std::unique_ptr<DCTCPSrc> source;
    std::unique_ptr<TcpSink> sink;
    Route there, back;
    uint64_t bytes;
};

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void read_path(const std::vector<Link> &links, Route &route, PacketSink &end) {
    std::size_t count = 0, link = 0;
    for (std::cin >> count; count > 0; --count) {
        std::cin >> link;
        route.push_back(links.at(link).queue.get());
        route.push_back(links.at(link).pipe.get());
    }
    route.push_back(&end);
}

bool finished(const std::vector<Flow> &flows) {
    for (const auto &flow : flows)
        if (flow.sink->_cumulative_ack < flow.bytes)
            return false;
    return true;
}

} // namespace

int main() {
    uint64_t rate = 0, delay = 0; // bit/s, ps
    int packet = 0;               // bytes
    std::size_t link_count = 0, flow_count = 0;
    std::cin >> rate >> delay >> packet >> link_count >> flow_count;
    Packet::set_packet_size(packet);
    EventList events;
    std::vector<Link> links(link_count);
    for (auto &link : links) {
        mem_b limit = 0, threshold = 0;
        std::cin >> limit >> threshold;
        link.queue = std::make_unique<ECNQueue>(rate, limit, events, nullptr, threshold);
        link.pipe = std::make_unique<Pipe>(delay, events);
    }
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<Flow> flows(flow_count);
    for (auto &flow : flows) {
        simtime_picosec start = 0;
        uint64_t packets = 0;
        std::cin >> start >> packets;
        flow.bytes = packets * packet;
        flow.source = std::make_unique<DCTCPSrc>(nullptr, nullptr, events);
        flow.sink = std::make_unique<TcpSink>();
        read_path(links, flow.there, *flow.sink);
        read_path(links, flow.back, *flow.source);
        flow.source->set_flowsize(flow.bytes - 2 * packet); // htsim adds one packet, and sends another
        flow.source->connect(flow.there, flow.back, *flow.sink, start);
        timers.registerTcp(*flow.source);
    }
    if (!std::cin) {
        std::cerr << "the input is not complete\n";
        return 1;
    }
    const auto before = processor_seconds();
    uint64_t count = 0;
    while (events.doNextEvent())
        if (++count % checked_every == 0 && finished(flows))
            break;
    const auto seconds = processor_seconds() - before;
    uint64_t delivered = 0;
    for (const auto &flow : flows)
        delivered += flow.sink->_cumulative_ack / packet;
    std::cout << "{\"packets\": " << delivered << ", \"seconds\": " << seconds << ", \"events\": " << count
              << ", \"finished_at\": " << timeAsSec(events.now()) << "}\n";
    std::cout.flush();
    std::_Exit(0); // without taking the network apart
}
