# Runs `regard serve` as an unprivileged user. Models are mounted; nothing is written at run time.
FROM debian:12-slim AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
COPY packages.txt /tmp/packages.txt
# hadolint ignore=DL3008
RUN apt-get update \
 && awk '!/^#/ && $2 == "build" { print $1 }' /tmp/packages.txt \
    | xargs apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/*
COPY . /src
WORKDIR /src
RUN cmake --preset release -DREGARD_BUILD_TESTS=OFF -DREGARD_BUILD_EXAMPLES=OFF \
 && cmake --build build/release --target regard_program \
 && strip build/release/bin/regard

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
    libfmt9 libjpeg62-turbo libpcre2-8-0 libpng16-16 libsimdjson14 libsndfile1 libsoxr0 libtomlplusplus3 \
    libutf8proc2 libwebp7 libxxhash0 libzstd1 zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --no-create-home --uid 999 regard
COPY --from=build /src/build/release/bin/regard /usr/bin/regard
USER 999:999
EXPOSE 8080
ENTRYPOINT ["/usr/bin/regard"]
CMD ["serve", "--help"]
