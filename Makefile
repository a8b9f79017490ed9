# Everything a fresh machine needs is installed by these targets. Downloads go to EDGE_HOME and the package clients' own
# caches, never into the work tree; each is checked by digest.

GO       ?= go
PYTHON   ?= python3
# What only the tests need, pinned.
TEST_PACKAGES = pytest==8.4.2 blake3==1.0.8 jsonschema==4.25.1 rfc8785==0.1.4 jinja2==3.1.6 pydantic==2.13.4 griffelib==2.3.0
export CGO_ENABLED = 0

# What make fuzz runs: FOLDER:TARGET, each for FUZZTIME. docs/testing.md lists the rest.
FUZZ     ?= $(FUZZ_TEXT) $(FUZZ_FILES)
FUZZTIME ?= 60s
# What models and tools say; what files hold.
FUZZ_TEXT  = ./runner:FuzzReadFrame ./tools:FuzzParseReply ./tools:FuzzValidateArguments
FUZZ_FILES = ./serve:FuzzReadFrame ./imprint:FuzzHeader ./imprint:FuzzLayerIndex ./receipts:FuzzParseBehindDigests ./models/gguf:FuzzRead

.PHONY: help demo test build setup test-go test-python test-deps bench peers e2e-served bfcl fuzz sweep zoo lint generate clean

help:
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: setup ## build, set up the engine and the model, learn, chat from the imprint, show what was saved
	@sh examples/demo.sh

test: setup test-deps lint test-go test-python ## set up what it needs and pass the whole suite

build: bin/edge ## build bin/edge

bin/edge: $(shell find bench chat cmd evolve facts hosted imprint inference internal learn models receipts runner serve tools -name '*.go' -o -name '*.py' -o -name '*.html' -o -name '*.js') go.mod go.sum
	@mkdir -p bin
	@$(GO) build -trimpath -o bin/edge ./cmd/edge

setup: build ## fetch the engine libraries and the default model
	@sh scripts/system.sh
	@bin/edge setup >/dev/null

test-deps: ## what only the tests need
	@sh scripts/browser.sh
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore $(TEST_PACKAGES)

test-go: ## the Go suite, with the real engine and model; one package at a time, since engine threads spin
	@$(GO) test -p 1 -timeout 20m ./...

test-python: ## the Python package's suite
	@$(PYTHON) -m pytest -q runner/python/tests docs/format bench

bench: setup ## measure this machine: first token and calls, cold, restored and resident (docs/performance.md); a tool's call
	@bin/edge bench $(BENCH)
	@$(GO) test -run '^$$' -bench Call -benchtime 40x ./runner

peers: setup ## edge beside llama-server and llama-cpp-python; the first run builds them
	@$(PYTHON) bench/peers/peers.py $(PEERS)

e2e-served: setup ## the household example on edge, Ollama and llama-server (docs/backends.md); builds both servers at first; RECORD=1 refreshes testdata/served
	@$(PYTHON) bench/served/served.py --write $(if $(RECORD),--record)

fuzz: ## fuzz what takes text from models and tools, and what reads files: FUZZTIME for each target of FUZZ
	@for target in $(FUZZ); do \
		echo "fuzz $$target"; \
		$(GO) test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $(FUZZTIME) "$${target%%:*}" || exit 1; \
	done

sweep: ## kill, and fail the disk of, whatever writes pending actions, imprints and receipts, at every system call (Linux; installs strace where it is missing)
	@command -v strace >/dev/null || { apt-get update -qq && apt-get install -y -qq strace >/dev/null; }
	@$(GO) test -p 1 -timeout 60m -tags sweep -run Sweep -v ./tools ./imprint ./imprint/oci ./receipts

zoo: ## build a tiny model of every architecture into EDGE_HOME/zoo (cmake and a C++ compiler; about 8 minutes of 2 cores)
	@sh scripts/zoo.sh

bfcl: setup ## the Berkeley Function-Calling Leaderboard's data and checker; half an hour of one core (docs/bfcl.md)
	@$(PYTHON) bench/bfcl/bfcl.py $(BFCL)

lint: ## formatting and vet
	@test -z "$$(gofmt -l .)" || { echo "gofmt:"; gofmt -l .; exit 1; }
	@$(GO) vet ./...

generate: ## rewrite docs/errors.md from the code table
	@$(GO) test ./internal/fault -run ErrorsPage -update

clean: ## remove what a build made here
	@rm -rf bin
