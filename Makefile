# make demo runs the main job, make test the tests; make help lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/matoolkit/matoolkit/internal/buildinfo.Version=$(VERSION) -X main.version=$(VERSION)

# Everything that compiles the Graph SDK does so with the same settings: it takes
# minutes and gigabytes, once.
PLAIN := CGO_ENABLED=0
BUILD := $(PLAIN) go build -trimpath -ldflags "$(LDFLAGS)"

# The race detector needs a C compiler; without one the tests run without it.
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

# The packages whose programs hold msgraph-sdk-go, which takes minutes and gigabytes to
# compile with the race detector on: they are tested without it. internal/app is tested
# both ways: of its faults the race detector sees a part.
GRAPH := ./worker ./worker/graph ./worker/matrix

# The simulations let one goroutine go on at a time. The race detector has nothing to
# find there, and takes ten times as long.
SIMULATION := ./internal/app/simulation ./internal/app/explore ./local/simulate

# These compress programs of some 30 MB, one after the other: with the race detector on it
# takes minutes, and there is nothing for it to find.
PACKING := ./infra/archive ./infra/pack ./infra/release

.PHONY: help build stage func package release clean image demo up test test-protocols soak soak-storm soak-simulation soak-sources soak-explore fuzz bench lint portable vuln

##@ Help
# (Lines that begin so are the headings of the list.)

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "%s%s\n", sep, substr($$0, 5); sep = "\n"} /^[A-Za-z0-9_-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nFor example: make demo, make test, make fuzz FUZZ=10s, make soak SOAK=10m\n'

##@ Build
build: ## build the three programs into bin/
	$(BUILD) -o bin/handler ./handler
	$(BUILD) -o bin/matoolkit ./cmd/matoolkit
	$(BUILD) -o bin/worker ./worker

# What the host wants beside the handler, in the folder given.
define staged
cp host.json $(1)/ && for f in functions/*/function.json; do d=$(1)/$$(basename $$(dirname $$f)); mkdir -p $$d && cp $$f $$d/ || exit 1; done
endef

stage: build ## stage the Functions app into dist/, as the host wants it
	@rm -rf dist && mkdir -p dist
	@cp bin/handler dist/
	@$(call staged,dist)

# Settings of one's own stand in local.settings.json, which is not part of the repository.
func: stage ## stage the Functions app for Azure's own tool, with the settings that "func start" reads
	@base=local.settings.json; test -f $$base || base=local.settings.json.example; \
		umask 077; bin/matoolkit local env --for func --base $$base >dist/local.settings.json.new && \
		mv dist/local.settings.json.new dist/local.settings.json
	@printf '%s\n' 'dist/ is staged. Each of these in a terminal of its own:' \
		'  npx azurite@3.37.0 --skipApiVersionCheck --location .data/azurite    for the lease and the schedule of the timer' \
		'  bin/matoolkit local up --parts servicebus,cosmos,identity            everything but the Functions host' \
		'  cd dist && func start                                               Azure Functions Core Tools 4, at http://127.0.0.1:7071/api'

# The same commit gives the same files: every time in them is the commit's.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
export SOURCE_DATE_EPOCH

# Azure runs the one for amd64. It is made last, so that dist/ then is what its zip holds;
# "make stage" makes it one for this machine again.
package: ## stage the Functions app for Azure into dist/, and make its zip files, in bin/package/
	@mkdir -p bin/package && for arch in arm64 amd64; do \
		rm -rf dist && mkdir dist && \
		$(PLAIN) GOOS=linux GOARCH=$$arch go build -trimpath -ldflags "$(LDFLAGS)" -o dist/handler ./handler && \
		( $(call staged,dist) ) && \
		$(PLAIN) go run -trimpath ./infra/pack -app dist -arch $$arch -out bin/package/matoolkit-handler_linux_$$arch.zip || exit 1; \
	done

release: ## make the archives of the command line for each system, with checksums and bills of materials, in bin/release/
	@rm -rf bin/release
	$(PLAIN) go run -trimpath ./infra/release -version "$(VERSION)" -out bin/release

clean: ## take away what was built: bin/ and dist/
	rm -rf bin dist

# The name of the worker's image, and where public authorities' certificates are.
IMAGE ?= matoolkit-worker
CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt

# Neither a daemon nor a registry is needed: the program is built here, and takes the
# place of the Dockerfile's first stage. Without podman the image is not tried.
image: ## build the worker's container image and try it, with buildah and podman instead of Docker
	@command -v buildah >/dev/null || { echo "make image needs buildah (apt-get install --no-install-recommends buildah podman runc). With Docker: docker build -f worker/Dockerfile --build-arg VERSION=$(VERSION) -t $(IMAGE):$(VERSION) ."; exit 1; }
	@test -r $(CERTIFICATES) || { echo "make image needs the certificates of public authorities: CERTIFICATES=<a PEM file>; $(CERTIFICATES) cannot be read"; exit 1; }
	$(PLAIN) GOOS=linux go build -trimpath -ldflags "$(LDFLAGS)" -o bin/image/worker ./worker
	@cp $(CERTIFICATES) bin/image/ca-certificates.crt
	buildah bud --quiet --format docker -f worker/Dockerfile --build-context built=bin/image \
		--build-arg VERSION=$(VERSION) --build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown) -t $(IMAGE):$(VERSION) .
	@command -v podman >/dev/null || { echo "podman is not there: the image is built, but was not tried"; exit 0; }; \
		podman --runtime runc run --rm --read-only --read-only-tmpfs=false --cap-drop all --security-opt no-new-privileges --network none \
			--no-healthcheck --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 $(IMAGE):$(VERSION) --version && \
		podman image inspect --format '$(IMAGE):$(VERSION) has {{.Size}} bytes' $(IMAGE):$(VERSION)

##@ Run on this machine

demo: stage ## run a whole migration batch on this machine, and check the result
	bin/matoolkit local demo

up: stage ## start Azure and a tenant on this machine, until Ctrl-C
	bin/matoolkit local up

##@ Check

test: ## run the tests, with the race detector where it is affordable
	$(PLAIN) go vet -trimpath ./...
	$(PLAIN) go test -trimpath -vet=off -timeout 30m $(GRAPH) $(SIMULATION) $(PACKING) ./internal/app
	$(if $(RACE),,@echo "no C compiler: the tests run without the race detector")
	go test -vet=off -timeout 30m $(RACE) $$(go list ./... | grep -vxE 'github.com/matoolkit/matoolkit/(worker(/graph|/matrix)?|internal/app/(simulation|explore)|local/simulate|infra/(archive|pack|release))')

# Most tests of the use cases run on drivers in memory; see internal/app/drivers_test.go.
test-protocols: ## run all tests of the use cases with Azure's drivers, over the protocols
	@$(PLAIN) go test -trimpath -vet=off ./internal/app -count 1 -timeout 30m -azure

# For how long "make soak" runs, such as SOAK=10m; 0 is until Ctrl-C.
SOAK ?= 0

# What "make soak" runs side by side: three go on with new seeds, tell how each one came out
# and at what rate, and end with a failure that names its seed. soak-explore visits the states
# of its systems, and its failure is the shortest way to a wrong one.
SOAKS := soak-storm soak-simulation soak-sources soak-explore

soak: ## break things at random until Ctrl-C, or for SOAK=10m; what fails names its seed
	@$(MAKE) --no-print-directory -j $(words $(SOAKS)) $(SOAKS)

# Whole systems whose processes are killed during a batch of 500 members.
soak-storm: ## the part of soak that kills processes
	@$(PLAIN) go test -trimpath -vet=off ./e2e -run '^TestStorm$$' -count 1 -v -timeout 0 -soak $(SOAK) -seed $$(date +%s)

# Random runbooks through the use cases under faults, in one process, and administrators who
# put the same people into batches at the same time.
soak-simulation: ## the part of soak that tries random runbooks and rival administrators
	@$(PLAIN) go test -trimpath -vet=off ./internal/app/simulation -run '^TestSoak$$' -count 1 -v -timeout 0 -simulation.soak $(if $(filter 0,$(SOAK)),0s,$(SOAK))

# Batches that follow a data source which changes at random, in one process.
soak-sources: ## the part of soak that tries random data sources
	@$(PLAIN) go test -trimpath -vet=off ./internal/app -run '^TestSoakSources$$' -count 1 -v -timeout 0 -sources.soak $(if $(filter 0,$(SOAK)),0s,$(SOAK))

# Every order of deliveries, crashes and timers of small systems, in one process. A large
# system is explored for its share of the time.
soak-explore: ## the part of soak that tries every order of what happens in small systems
	@$(PLAIN) go test -trimpath -vet=off ./internal/app/explore -run '^TestSoak$$' -count 1 -v -timeout 0 -explore.soak $(if $(filter 0,$(SOAK)),0s,$(SOAK))

# For how long "make fuzz" tries each target, such as FUZZ=30s.
FUZZ ?= 30s

# Only packages whose tests have a target are compiled. What is found is kept in the
# package's testdata/fuzz, where the ordinary tests try it ever after.
fuzz: ## try every fuzz target for FUZZ=30s, one after the other
	@failed=0; for dir in $$(grep -rl --include '*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		targets=$$(go test -vet=off -list '^Fuzz' "$$dir") || { echo "$$targets"; exit 1; }; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "== $$dir $$target"; \
			go test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) "$$dir" || failed=1; \
		done; \
	done; exit $$failed

bench: stage ## measure the system; docs/performance.md tells what the figures mean
	bin/matoolkit local bench
	$(PLAIN) go test -trimpath -vet=off ./handler -run '^$$' -bench '^BenchmarkMemoryOfUploadsAtOnce$$/^(900_columns|keys_of|many_rows)' -benchtime 1x -timeout 0

# The tools are pinned. One that is installed at the same version is not built again.
GOFUMPT := go run mvdan.cc/gofumpt@v0.12.0
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.8.0
GOLANGCI_VERSION = 2.15.0
GOLANGCI = $(if $(findstring version $(GOLANGCI_VERSION) ,$(shell golangci-lint version 2>/dev/null)),golangci-lint,go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION))

lint: ## formatting, vet, linters and the workflows; the first time the linters are built
	@unformatted=$$($(GOFUMPT) -l .); test -z "$$unformatted" || { echo "$$unformatted"; echo "not formatted: go run mvdan.cc/gofumpt@v0.12.0 -w ."; exit 1; }
	$(PLAIN) go vet -trimpath ./...
	$(PLAIN) GOFLAGS=-trimpath $(GOLANGCI) run
	$(ACTIONLINT)

# The command line, and all of it that runs on one machine: what is released for them.
portable: ## compile and vet for macOS and Windows what runs there, without running it
	@for os in darwin windows; do \
		echo "== $$os"; $(PLAIN) GOOS=$$os go vet -trimpath ./cmd/... ./internal/cli ./local/... || exit 1; \
	done

# The worker is looked at as a program: to follow every call through the source of the
# Graph SDK takes more memory than most machines have. It keeps its symbols for that.
vuln: ## look for known vulnerabilities that the code reaches; asks vuln.go.dev
	$(PLAIN) $(GOVULNCHECK) $$(go list ./... | grep -vxE 'github.com/matoolkit/matoolkit/worker(/graph|/matrix)?')
	$(PLAIN) go build -trimpath -o bin/vuln/worker ./worker
	$(GOVULNCHECK) -mode binary bin/vuln/worker

# Node parses the files once more and describes Azure's types: the second opinion. The Go
# part needs nothing and runs in "make test" as well.
TREESITTER := infra/check/treesitter
AZMCP := $(TREESITTER)/node_modules/@azure/mcp-linux-x64/dist/azmcp
INFRA_CHECK := $(PLAIN) go run -trimpath ./infra/check

# azmcp is made for Linux on amd64; elsewhere the types are not compared.
infra-check: infra-tools ## check the Bicep files and parameters, with Node's second opinion
	$(INFRA_CHECK) $$(test -x $(AZMCP) && echo -azmcp $(AZMCP)) infra
	@$(INFRA_CHECK) -declarations infra | node $(TREESITTER)/verify.js .

infra-types: infra-tools ## bring the snapshot of Azure's resource types up to date
	@test -x $(AZMCP) || { echo "azmcp is not there: it is made for Linux on amd64 only"; exit 1; }
	$(INFRA_CHECK) -azmcp $(AZMCP) -write infra

.PHONY: infra-tools infra-check infra-types
infra-tools: ## fetch what infra-check and infra-types need of Node
	@command -v npm >/dev/null || { echo "Node 20 and npm are missing: https://nodejs.org, or apt-get install nodejs npm. Without them: go run ./infra/check infra"; exit 1; }
	@npm ci --prefix $(TREESITTER) --ignore-scripts --no-audit --no-fund --loglevel=error
