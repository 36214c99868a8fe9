# The lab: emulated switches, hosts and failures, and everything that `./run` does in a clone:
#
#   docker build -t kuijia-lab -f lab.Dockerfile .
#   docker run --rm --privileged kuijia-lab demo
#
# A lab makes network namespaces, virtual cables and queues, hence --privileged. It uses the kernel's datapath if the
# machine has loaded the module openvswitch, else Open vSwitch's own in user space. The kernel lane boots a kernel with
# that datapath as a process instead:
#
#   docker run --rm --privileged kuijia-lab kuijia uml -- kuijia doctor

FROM debian:bookworm-slim AS system
COPY requirements/debian.txt requirements/install-debian /requirements/
RUN packages=$(grep -v '^#' /requirements/debian.txt) \
    && /requirements/install-debian ca-certificates libtcmalloc-minimal4 user-mode-linux $packages \
    && rm -rf /var/lib/apt/lists/*

FROM system
COPY . /kuijia
WORKDIR /kuijia
RUN ./run kuijia --version && rm -rf ~/.cache
ENTRYPOINT ["./run"]
CMD ["kuijia", "doctor"]
