#!/usr/bin/env bash
# Makes the Go files of this folder from externalscaler.proto. Needs protoc
# (Debian: protobuf-compiler); the two plugins are fetched at the versions below.
set -euo pipefail
cd "$(dirname "$0")"

messages=google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
services=google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

if ! command -v protoc >/dev/null; then
  echo "protoc is missing: install it (Debian: apt-get install protobuf-compiler) and run this again." >&2
  echo "It is needed only after a change of externalscaler.proto: what it makes is committed." >&2
  exit 1
fi

plugins=$(mktemp -d)
trap 'rm -rf "$plugins"' EXIT
GOBIN=$plugins go install "$messages"
GOBIN=$plugins go install "$services"
PATH=$plugins:$PATH protoc \
  --go_out=. --go_opt=paths=source_relative \
  --go-grpc_out=. --go-grpc_opt=paths=source_relative \
  externalscaler.proto
