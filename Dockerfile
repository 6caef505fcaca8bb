# One image for every process of the library: servers, workers, the inbox.
FROM python:3.13.5-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY a2a_temporal ./a2a_temporal
RUN python -m venv /opt/a2a && /opt/a2a/bin/pip install --no-cache-dir '.[grpc,inbox]'

FROM python:3.13.5-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home a2a
# Where the examples' activities write: a new volume takes the directory over, with its owner.
RUN install --directory --owner=a2a /srv/effects
COPY --from=build /opt/a2a /opt/a2a
WORKDIR /app
COPY workflows ./workflows
COPY activities ./activities
ENV PATH=/opt/a2a/bin:$PATH PYTHONUNBUFFERED=1
USER a2a
ENTRYPOINT ["a2a-temporal"]
CMD ["--help"]
