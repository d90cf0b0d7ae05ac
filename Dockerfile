# docker build --tag guestlist . && docker run --rm guestlist
FROM python:3.12-slim

WORKDIR /opt/guestlist
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m pip install --no-cache-dir --constraint constraints.txt .

RUN useradd --create-home --uid 1000 auditor && install --directory --owner auditor /audits
USER 1000
WORKDIR /audits
ENTRYPOINT ["guestlist"]
CMD ["demo", "--out", "/audits/demo"]
