# stdio, as a client's command:   docker run -i --rm -v toolcrib:/data toolcrib
# HTTP, for clients on this host: docker run -p 127.0.0.1:8665:8665 -v toolcrib:/data toolcrib serve --http --host 0.0.0.0
# Inside the container 0.0.0.0 is needed to be reached at all; publishing on 127.0.0.1 keeps it on this host.
#
# Node.js and uv are in it, so that servers that are started with `npx` or `uvx` run. The steps are in scripts/install_image.sh.

# The same Debian for all stages: programs of one must find their libraries in another.
FROM node:22-bookworm-slim AS node

FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY scripts/install_image.sh scripts/
# Requirements first: they change less often than the code, so their layer is reused.
COPY requirements/runtime.txt requirements/image.txt requirements/
RUN sh scripts/install_image.sh requirements /opt/toolcrib
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN sh scripts/install_image.sh toolcrib /opt/toolcrib

FROM python:3.11-slim-bookworm
COPY --from=node /usr/local/bin/node /usr/local/bin/
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
COPY scripts/install_image.sh /tmp/
RUN sh /tmp/install_image.sh node /usr/local && rm /tmp/install_image.sh
# The home is the volume: what npx and uvx download is kept there, and is not fetched again at every start.
RUN useradd --system --user-group --no-create-home --home-dir /data --uid 8665 toolcrib \
    && install -d -o toolcrib -g toolcrib -m 0700 /data
COPY --from=build /opt/toolcrib /opt/toolcrib
ENV PATH=/opt/toolcrib/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HOME=/data \
    TOOLCRIB_HOME=/data \
    TOOLCRIB_ENGINE_ENABLED=false
VOLUME /data
EXPOSE 8665
USER toolcrib
WORKDIR /srv
ENTRYPOINT ["toolcrib"]
CMD ["serve"]
