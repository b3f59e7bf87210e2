# The whole wavex, git, node and the claude CLI, for CI jobs that run plans:
#   docker build -t wavex .
#   docker run --rm -v "$PWD:/work" -e ANTHROPIC_API_KEY wavex run plan.json
# The user node has the number 1000; where the work is another's:
#   docker run --rm -v "$PWD:/work" -e ANTHROPIC_API_KEY --user "$(id -u):$(id -g)" -e HOME=/tmp wavex run plan.json
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY fleet/go.mod fleet/go.sum fleet/
RUN go mod download -C fleet
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -C fleet -trimpath -ldflags "-s -w -X wavex/cmd.version=$VERSION" -o /out/wavex ./cmd/wavex

FROM node:22-bookworm-slim
ARG CLAUDE_VERSION=2.1.258
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && npm install --global --no-fund --no-audit "@anthropic-ai/claude-code@$CLAUDE_VERSION"
COPY --from=build /out/wavex /usr/local/bin/wavex
# Not root: the CLI refuses to bypass permissions as root, unless IS_SANDBOX=1 says that
# the whole machine is a sandbox. wavex never asks for that by itself, and as this user
# there is no need. Whoever runs the image as root, and means it, sets IS_SANDBOX=1.
# The work is mounted or checked out by somebody else, wherever a CI puts it; nobody but
# the one user is in here whom git could mean to warn of.
RUN git config --system --add safe.directory '*'
USER node
WORKDIR /work
ENTRYPOINT ["wavex"]
CMD ["--help"]
