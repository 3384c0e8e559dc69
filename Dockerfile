# groundrail serve on the CPU, the built-in judge inside: nothing is fetched when it runs.
#   docker build -t groundrail .
#   docker run -p 8080:8080 --add-host=host.docker.internal:host-gateway groundrail --upstream http://host.docker.internal:8000/v1
FROM python:3.11-slim AS build
WORKDIR /build
RUN python -m venv /opt/groundrail
ENV PATH=/opt/groundrail/bin:$PATH
COPY constraints.txt ./
# Name an index of CPU builds to spare gigabytes of CUDA: docker build --build-arg TORCH_INDEX=... .
ARG TORCH_INDEX=""
RUN pip install --no-cache-dir -c constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY . .
RUN pip install --no-cache-dir -c constraints.txt ".[serve,otel]"

FROM python:3.11-slim
COPY --from=build /opt/groundrail /opt/groundrail
ENV PATH=/opt/groundrail/bin:$PATH PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 HOME=/tmp \
    MALLOC_ARENA_MAX=4
RUN useradd --system --uid 10001 groundrail
USER 10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["groundrail", "serve", "--host", "0.0.0.0", "--port", "8080"]
