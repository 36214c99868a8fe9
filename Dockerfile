# Solver, simulators and studies of failures, without switches:
#
#   docker build -t kuijia .
#   docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" kuijia solve topology.yaml demands.csv -o plan.json

FROM debian:bookworm-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN python3 -m venv /opt/kuijia \
    && /opt/kuijia/bin/pip install --no-cache-dir "/src[plot,networks]"

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home kuijia
COPY --from=build /opt/kuijia /opt/kuijia
ENV PATH=/opt/kuijia/bin:$PATH
USER kuijia
WORKDIR /work
ENTRYPOINT ["kuijia"]
CMD ["--help"]
