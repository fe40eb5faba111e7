.DEFAULT_GOAL := help
SHELL := /bin/sh
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/matoolkit/matoolkit/internal/buildinfo.Version=$(VERSION) -X main.version=$(VERSION)

# One set of flags, so that all builds and tests share the cache: to compile the Graph SDK takes
# minutes and gigabytes, once.
PLAIN := CGO_ENABLED=0
BUILD := $(PLAIN) go build -trimpath -ldflags "$(LDFLAGS)"
TEST := $(PLAIN) go test -trimpath -vet=off -timeout 30m
MODULE := github.com/matoolkit/matoolkit

# Packages in which goroutines share memory. "make test" runs these with the race detector if
# there is a C compiler, and the others without it: it takes ten times as long.
RACE_PACKAGES := ./functions/... ./handler ./internal/bus/... ./internal/consumer ./internal/deadletter ./internal/invocation ./internal/orchestrator \
	./internal/otlp ./internal/scaler/... ./internal/scaling ./internal/signin ./internal/store/... ./internal/workers ./local/arm ./local/clock ./local/servicebus/... \
	./worker/calls ./worker/control ./worker/custom ./worker/dispatch ./worker/health ./worker/heartbeat ./worker/signin ./worker/throttle
RACE := $(shell command -v $${CC:-cc} >/dev/null 2>&1 && echo -race)

# Packages that start programs or servers, search many states, or compile the Graph SDK.
SLOW := cmd/matoolkit|e2e.*|handler|infra/pack|internal/app/(explore|simulation)|internal/cli|local/(bench|functionshost|simulate)|worker(/(dispatch|graph|matrix|verify))?

# The tools are pinned. golangci-lint is not built again if the same version is installed.
GOFUMPT := go run mvdan.cc/gofumpt@v0.12.0
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.8.0
GORELEASER := go run github.com/goreleaser/goreleaser/v2@v2.15.4
GOLANGCI_VERSION = 2.15.0
GOLANGCI = $(if $(findstring version $(GOLANGCI_VERSION) ,$(shell golangci-lint version 2>/dev/null)),golangci-lint,go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION))

.PHONY: help build console console-client console-packages console-vendor console-screenshots stage clean demo demo-tenant-to-tenant demo-scaler demo-pipeline demo-programs up func bench bench-long bench-record bench-river bench-bundle test test-short test-protocols test-postgres test-rabbitmq test-browser test-console lint-api soak soak-storm soak-move soak-simulation soak-sources soak-explore fuzz lint portable vuln clients example-workers package image notices release

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "%s%s\n", sep, substr($$0, 5); sep = "\n"} /^[A-Za-z0-9_-]+:.*## / {if (sep) printf "  make %-21s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@printf '\nExamples: make demo, make test-short, make fuzz FUZZ=10s, make soak SOAK=10m\n'

##@ Build
build: console ## build the three programs into bin/, and the Functions app into dist/
	$(BUILD) -o bin/ ./handler ./cmd/matoolkit ./worker
	@$(app)

# The handler embeds what this writes to console/dist.
console: # bundle the operations console
	$(PLAIN) go run -trimpath ./console/bundle

# staged copies what the host needs beside the handler into a folder.
define staged
cp host.json $(1)/ && for f in functions/*/function.json; do d=$(1)/$$(basename $$(dirname $$f)); mkdir -p $$d && cp $$f $$d/ || exit 1; done
endef

# app stages the Functions app with the handler in bin/ into dist/.
app := rm -rf dist && mkdir -p dist && cp bin/handler dist/ && $(call staged,dist)

stage: build # what "build" does; for scripts that name it

clean: ## delete bin/ and dist/
	rm -rf bin dist

##@ Run
# "go list" downloads only the modules that the programs need. The worker is compiled last, while the
# demo starts the local system.
demo: demo-programs ## run a migration batch on this machine and check the result
	@bin/matoolkit local demo --build-worker '$(BUILD) -o bin/worker ./worker'

demo-tenant-to-tenant: demo-programs ## move people between two tenants on this machine and check the result
	@bin/matoolkit local demo-tenant-to-tenant --build-worker '$(BUILD) -o bin/worker ./worker'

demo-scaler: demo-programs ## run the container scaler on this machine and check the result
	$(BUILD) -o bin/ ./examples/container-per-message
	@bin/matoolkit local demo-scaler

# The training program is a command function: it is beside its manifest.
demo-pipeline: demo-programs bench-bundle ## request bundles of repositories on this machine and check the results
	@mkdir -p bin/context-functions && chmod 755 bin/context-functions && cp examples/context-bundle/functions/*.yaml bin/context-functions/
	$(BUILD) -o bin/context-functions/train ./examples/context-bundle/train
	@bin/matoolkit local demo-pipeline

demo-programs:
	@echo 'Downloading the modules of the programs, the first time about 110 MB'
	@$(PLAIN) go list -deps ./console/bundle ./handler ./cmd/matoolkit ./worker >/dev/null
	$(PLAIN) go run -trimpath ./console/bundle
	$(BUILD) -o bin/ ./handler ./cmd/matoolkit
	@$(app)

up: build ## start a local Azure and tenant, until Ctrl-C
	bin/matoolkit local up

# local.settings.json holds settings of your own and is not part of the repository.
func: build ## stage dist/ for Azure Functions Core Tools ("func start")
	@base=local.settings.json; test -f $$base || base=local.settings.json.example; \
		umask 077; bin/matoolkit local env --for func --base $$base >dist/local.settings.json.new && \
		mv dist/local.settings.json.new dist/local.settings.json
	@printf '%s\n' 'Staged dist/. Run each of these in a terminal of its own:' \
		'  npx azurite@3.37.0 --skipApiVersionCheck --location .data/azurite' \
		'  bin/matoolkit local up --parts servicebus,cosmos,identity' \
		'  cd dist && func start'

# Its results print this setting, which is 0 by default.
LINGER := --linger 5

bench: build bench-river bench-bundle ## measure throughput, latency and memory, and compare with the targets
	bin/matoolkit local bench $(LINGER)
	$(TEST) ./handler -run '^$$' -bench '^BenchmarkMemoryOfUploadsAtOnce$$/^(900_columns|keys_of|many_rows)' -benchtime 1x

# Takes half an hour. 300,000 members with one step each are less than with five, and compare with 100 alike.
bench-long: build bench-river # measure batches of up to 300,000 members, and 1,000,000 in ten
	bin/matoolkit local bench $(LINGER) --only members --members 100,1000,10000,100000,300000 --steps 1
	bin/matoolkit local bench $(LINGER) --only batches --batches 10 --batch-members 100000
	bin/matoolkit local bench --only rehearsal --people 100000 --wave 1000

bench-record: build bench-river bench-bundle # record the runs of docs/reference/performance.md, with their order in the names
	bin/matoolkit local bench $(LINGER) --output json >local/bench/results/1-usual.json
	bin/matoolkit local bench $(LINGER) --only members --members 100,1000,10000,100000,300000 --steps 1 --output json >local/bench/results/2-sizes.json
	bin/matoolkit local bench $(LINGER) --only batches --batches 10 --batch-members 100000 --output json >local/bench/results/3-batches.json
	bin/matoolkit local bench --only rehearsal --people 100000 --wave 1000 --output json >local/bench/results/4-rehearsal.json
	bin/matoolkit local bench --only predicted --output json >local/bench/results/5-predicted.json
	bin/matoolkit local bench $(LINGER) --only requests,bundles --output json >local/bench/results/6-requests.json
	go generate ./docs/...

# River and its driver are a module of their own. Without a network the benchmark does without them.
bench-river:
	@$(PLAIN) go -C bench/peers/river build -trimpath -o ../../../bin/bench-river . || echo 'River cannot be built: its column stays empty'

# The worker of the bundles of repositories.
bench-bundle:
	$(BUILD) -o bin/context-worker ./examples/context-bundle/worker

##@ Test
test: ## run all tests, with the race detector where goroutines share memory
	$(PLAIN) go vet -trimpath ./...
	$(TEST) $$($(PLAIN) go list ./... $(if $(RACE),| grep -vxF "$$(go list $(RACE_PACKAGES))"))
	$(if $(RACE),go test -vet=off -timeout 30m $(RACE) $(RACE_PACKAGES))

test-short: ## run the tests without programs, servers and searches
	$(TEST) -short $$($(PLAIN) go list ./... | grep -vxE '$(MODULE)/($(SLOW))')

test-protocols: ## run the tests of internal/app with Azure's drivers
	$(TEST) ./internal/app -count 1 -azure

test-postgres: ## run the tests of the data source, also in the whole system, and the store on a PostgreSQL server (needs postgresql)
	$(TEST) -tags postgres -count 1 ./internal/datasource/postgres ./internal/store/postgres
	$(TEST) -tags postgres -count 1 -run PostgreSQL ./e2e

# The tests of pipelines, which also run on RabbitMQ and PostgreSQL.
PIPELINE_TESTS := $(patsubst %,internal/app/%_test.go,pipeline cache detached outputs oncomplete moving)

test-rabbitmq: ## run the tests of the bus driver rabbitmq, and batches and pipelines, also on PostgreSQL (needs rabbitmq-server and postgresql)
	$(TEST) -tags rabbitmq -count 1 ./internal/bus/rabbitmq
	$(TEST) -tags rabbitmq,postgres -count 1 -run RabbitMQ ./handler
	$(TEST) -tags rabbitmq,postgres -count 1 -run "$$(sed -n 's/^func \(Test[^(]*\).*/^\1$$/p' $(PIPELINE_TESTS) | paste -sd '|' -)" ./internal/app

test-browser: ## run the tests of signing in with MSAL.js in Chromium (needs chromium and npm)
	cd e2e/browser && npm ci --ignore-scripts --no-audit --no-fund
	$(TEST) -tags browser -count 1 -skip '^TestConsole' ./e2e/browser

# How long each fuzz target runs, and how long "make soak" runs; SOAK=0 is until Ctrl-C.
FUZZ ?= 30s
SOAK ?= 0
SOAK_TIME := $(if $(filter 0,$(SOAK)),0s,$(SOAK))
SOAKS := soak-storm soak-move soak-simulation soak-sources soak-explore
SOAK_TEST := $(PLAIN) go test -trimpath -vet=off -count 1 -v -timeout 0

soak: ## run random faults, runbooks and sources for SOAK=10m; a failure names its seed
	@$(MAKE) --no-print-directory -j $(words $(SOAKS)) $(SOAKS)

soak-storm: # whole systems whose processes are killed during a batch of 500 members
	@$(SOAK_TEST) ./e2e -run '^TestStorm$$' -soak $(SOAK) -seed $$(date +%s)

soak-move: # migrations between two tenants whose processes are killed in each phase
	@$(SOAK_TEST) ./e2e -run '^TestMoveBetweenTenants$$' -soak $(SOAK) -seed $$(date +%s)

soak-simulation: # random runbooks under faults, in one process
	@$(SOAK_TEST) ./internal/app/simulation -run '^TestSoak$$' -simulation.soak $(SOAK_TIME)

soak-sources: # batches that follow a data source which changes at random
	@$(SOAK_TEST) ./internal/app -run '^TestSoakSources$$' -sources.soak $(SOAK_TIME)

soak-explore: # every order of deliveries, crashes and timers of small systems
	@$(SOAK_TEST) ./internal/app/explore -run '^TestSoak$$' -explore.soak $(SOAK_TIME)

# Go 1.26 may fail a target when its time ends, with "context deadline exceeded" and no input (golang/go#75804): that is
# no finding.
fuzz: ## run each fuzz target for FUZZ=30s
	@failed=0; log=$$(mktemp) || exit 1; trap 'rm -f "$$log"' EXIT; \
	for dir in $$(grep -rl --include '*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u); do \
		targets=$$(go test -vet=off -list '^Fuzz' "$$dir") || { echo "$$targets"; exit 1; }; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "== $$dir $$target"; \
			{ go test -vet=off -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) "$$dir" || echo "failed: $$target"; } 2>&1 | tee "$$log"; \
			grep -qx "failed: $$target" "$$log" || continue; \
			grep -qx ' *context deadline exceeded' "$$log" && ! grep -q 'Failing input written to' "$$log" || failed=1; \
		done; \
	done; exit $$failed

# The packages and the compiler of TypeScript come from npm. The results are part of the repository.
console-packages:
	cd console/npm && npm ci --ignore-scripts --no-audit --no-fund

console-client: console-packages # make the console's client of the API anew
	cd console/npm && npx openapi-typescript ../../functions/admin-http/openapi.yaml --default-non-nullable false -o ../src/api/schema.d.ts
	cd console/npm && npx tsc -p ..

console-vendor: console-packages # copy what the console uses of the packages of other authors
	$(PLAIN) go run -trimpath ./console/bundle -vendor

test-console: build console-client ## run the tests of the operations console in Chromium (needs chromium and npm)
	cd e2e/browser && npm ci --ignore-scripts --no-audit --no-fund
	git diff --exit-code -- console/src/api
	$(TEST) -tags browser -count 1 -run '^TestConsole' ./e2e/browser

console-screenshots: build # make the pictures of docs/console.md anew (needs chromium and npm)
	cd e2e/browser && npm ci --ignore-scripts --no-audit --no-fund
	mkdir -p docs/images/console
	$(TEST) -tags browser -count 1 -run '^TestConsole(Accessible|Containers)$$' ./e2e/browser -screenshots $(CURDIR)/docs/images/console

##@ Check
lint-api: ## check the document of the API with Redocly and Spectral (needs npm)
	cd functions/admin-http/lint && npm ci --ignore-scripts --no-audit --no-fund && \
		npx redocly lint ../openapi.yaml --config redocly.yaml && npx spectral lint ../openapi.yaml --ruleset .spectral.yaml --fail-severity warn

lint: ## check the format, vet, golangci-lint and the workflows
	@unformatted=$$($(GOFUMPT) -l .); test -z "$$unformatted" || { echo "$$unformatted"; echo "not formatted: run $(GOFUMPT) -w ."; exit 1; }
	$(PLAIN) go vet -trimpath ./...
	$(PLAIN) go vet -trimpath -tags browser ./e2e/browser
	$(PLAIN) go vet -trimpath -tags postgres ./internal/datasource/postgres ./internal/store/postgres ./e2e
	$(PLAIN) go vet -trimpath -tags rabbitmq ./internal/bus/rabbitmq/... ./handler
	$(PLAIN) go vet -trimpath -tags rabbitmq,postgres ./handler ./internal/app
	$(PLAIN) go -C bench/peers/river vet -trimpath ./...
	$(PLAIN) GOFLAGS=-trimpath $(GOLANGCI) run
	$(ACTIONLINT)

portable: ## vet the command line for macOS and Windows
	@for os in darwin windows; do \
		echo "== $$os"; $(PLAIN) GOOS=$$os go vet -trimpath ./cmd/... ./internal/cli ./local/... || exit 1; \
	done

# The worker is checked as a program: to follow every call through the Graph SDK takes more
# memory than most machines have.
vuln: ## look for known vulnerabilities that the code reaches (asks vuln.go.dev)
	$(PLAIN) $(GOVULNCHECK) $$(go list ./... | grep -vxE '$(MODULE)/worker(/graph|/matrix)?')
	$(PLAIN) go build -trimpath -o bin/vuln/worker ./worker
	$(GOVULNCHECK) -mode binary bin/vuln/worker

clients: ## run clients of Go, JavaScript, Python and Java against local/
	$(PLAIN) go run -trimpath ./local/clients/run $(CLIENTS)

example-workers: build ## verify the example workers in Python and TypeScript, and run a batch with each
	examples/workers/check.sh python
	examples/workers/check.sh typescript

##@ Release
# The same commit gives the same files: they have the time of the commit.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
export SOURCE_DATE_EPOCH

package: console ## build the zip files of the Functions app into bin/package/
	@mkdir -p bin/package && for arch in arm64 amd64; do \
		rm -rf bin/package/app && mkdir bin/package/app && GOOS=linux GOARCH=$$arch $(BUILD) -o bin/package/app/handler ./handler && ( $(call staged,bin/package/app) ) && \
		$(PLAIN) go run -trimpath ./infra/pack -app bin/package/app -arch $$arch -out bin/package/matoolkit-handler_linux_$$arch.zip || exit 1; \
	done; rm -rf bin/package/app

# The name of the worker's image, and the public certificate authorities.
IMAGE ?= matoolkit-worker
CERTIFICATES ?= /etc/ssl/certs/ca-certificates.crt

# No daemon and no registry: the program is built here, in place of the first stage of the
# Dockerfile. With Docker: docker build -f worker/Dockerfile .
image: ## build the worker's container image with buildah, and run it with podman
	@command -v buildah >/dev/null || { echo "make image needs buildah: apt-get install --no-install-recommends buildah podman runc"; exit 1; }
	@test -r $(CERTIFICATES) || { echo "cannot read $(CERTIFICATES): set CERTIFICATES to a PEM file of certificate authorities"; exit 1; }
	GOOS=linux $(BUILD) -o bin/image/worker ./worker
	@cp $(CERTIFICATES) bin/image/ca-certificates.crt
	buildah bud --quiet --format docker -f worker/Dockerfile --build-context built=bin/image \
		--build-arg VERSION=$(VERSION) --build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown) -t $(IMAGE):$(VERSION) .
	@command -v podman >/dev/null || { echo "built, but not run: podman is missing"; exit 0; }; \
		podman --runtime runc run --rm --read-only --read-only-tmpfs=false --cap-drop all --security-opt no-new-privileges --network none \
			--no-healthcheck --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 $(IMAGE):$(VERSION) --version && \
		podman image inspect --format '$(IMAGE):$(VERSION) has {{.Size}} bytes' $(IMAGE):$(VERSION)

notices: # the licences of the modules in the command line
	@mkdir -p bin && $(PLAIN) go run -trimpath ./infra/notices ./cmd/matoolkit >bin/THIRD-PARTY-NOTICES.txt.new
	@mv bin/THIRD-PARTY-NOTICES.txt.new bin/THIRD-PARTY-NOTICES.txt

release: ## build the release of the command line into bin/release/, unpublished
	$(GORELEASER) release --snapshot --clean --skip=sbom
