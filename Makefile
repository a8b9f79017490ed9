# Everything a fresh machine needs is installed by these targets. Downloads go to EDGE_HOME and the package clients' own
# caches, never into the work tree; each is checked by digest.

GO       ?= go
PYTHON   ?= python3
PYTEST   ?= pytest==8.4.2
FUZZTIME ?= 0s
export CGO_ENABLED = 0
# Engine threads spin: the tests use one.
export EDGE_THREADS_FOR_TESTS = 1

.PHONY: help demo test build setup test-go test-python test-deps bench lint generate clean

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: setup ## build, set up the engine and the model, learn, chat from the imprint, show what was saved
	@sh examples/demo.sh

test: setup test-deps lint test-go test-python ## set up what it needs and pass the whole suite

build: bin/edge ## build bin/edge

bin/edge: $(shell find cmd chat facts imprint inference internal learn models receipts runner tools -name '*.go' -o -name '*.py') go.mod go.sum
	@mkdir -p bin
	@$(GO) build -trimpath -o bin/edge ./cmd/edge

setup: build ## fetch the engine libraries and the default model
	@sh scripts/system.sh
	@bin/edge setup >/dev/null

test-deps: ## what only the tests need
	@$(PYTHON) -c 'import pytest' 2>/dev/null || $(PYTHON) -m pip install --quiet --disable-pip-version-check $(PYTEST)

test-go: ## the Go suite, with the real engine and model; one package at a time, since engine threads spin
	@$(GO) test -p 1 -timeout 20m ./...

test-python: ## the Python package's suite
	@$(PYTHON) -m pytest -q runner/python/tests

bench: setup ## measure this machine: cold and restored first token, restore and verification rates
	@$(PYTHON) bench/first_token.py

lint: ## formatting and vet
	@test -z "$$(gofmt -l .)" || { echo "gofmt:"; gofmt -l .; exit 1; }
	@$(GO) vet ./...

generate: ## rewrite docs/errors.md from the code table
	@$(GO) test ./internal/fault -run Docs -update

clean: ## remove what a build made here
	@rm -rf bin
