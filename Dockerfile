# stdio, as a client's command:   docker run -i --rm -v toolcrib:/data toolcrib
# HTTP, for clients on this host: docker run -p 127.0.0.1:8665:8665 -v toolcrib:/data toolcrib serve --http --host 0.0.0.0
# Inside the container 0.0.0.0 is needed to be reached at all; publishing on 127.0.0.1 keeps it on this host.

FROM python:3.11-slim AS build
WORKDIR /source
RUN python -m venv /opt/toolcrib
# Requirements first: they change less often than the code, so their layer is reused.
COPY requirements/runtime.txt requirements/
RUN /opt/toolcrib/bin/pip install --no-cache-dir -r requirements/runtime.txt
COPY pyproject.toml LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/toolcrib/bin/pip install --no-cache-dir --no-deps /wheels/*.whl

FROM python:3.11-slim
RUN useradd --system --create-home --uid 8665 toolcrib \
    && install -d -o toolcrib -g toolcrib -m 0700 /data
COPY --from=build /opt/toolcrib /opt/toolcrib
ENV PATH=/opt/toolcrib/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TOOLCRIB_HOME=/data
VOLUME /data
EXPOSE 8665
USER toolcrib
WORKDIR /home/toolcrib
ENTRYPOINT ["toolcrib"]
CMD ["serve"]
