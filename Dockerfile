# gradlint in a container: docker run --rm -v "$PWD:/src:ro" gradlint check
FROM python:3.12-slim
ARG VERSION=""
RUN pip install --no-cache-dir "torch-gradlint${VERSION:+==$VERSION}" \
    && useradd --create-home --uid 1000 gradlint
USER gradlint
WORKDIR /src
ENTRYPOINT ["gradlint"]
CMD ["check"]
