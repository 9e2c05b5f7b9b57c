# Two commands are all you need: make demo, make test.
# Both install the servers that they start where they are missing (Debian and
# Ubuntu; elsewhere they say what to install).

# The Google Cloud client needs none of these gRPC parts: a third of the binary.
TAGS    := disable_grpc_modules
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO      ?= go

# Compiles what tests start, before several packages do so at once. It ends with its stdin.
FAULTS = $(GO) run -C internal/testenv/faults -tags $(TAGS) . </dev/null >/dev/null

.PHONY: help demo demo-deps test browser docs servers build deps vet race fuzz tpch formats chaos mixed soak full kills bench bench-full pgo man chart packages clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

BASIC := redis-server:redis-server redis-cli:redis-tools mariadbd:mariadb-server
POSTGRES := postgres:postgresql

demo: demo-deps build ## make a report on private servers; FULL=1: of MySQL and PostgreSQL, as a workbook in S3; KEEP=1 stays up, with a dashboard
	$(if $(FULL),$(GO) run -tags $(TAGS) ./examples/workbook -dir out/demo $(if $(KEEP),-keep),./fanfold demo --dir out/demo $(if $(KEEP),--keep))

demo-deps:
	@./.ci/deps $(BASIC) $(if $(FULL),$(POSTGRES))

# -vet=off: go vet, which checks more, has just run on the same packages.
test: deps vet ## run all tests
	@./.ci/deps zstd:zstd curl:curl luac5.4:lua5.4
	@! command -v apt-get >/dev/null || ./.ci/deps /usr/lib/python3/dist-packages/openpyxl:python3-openpyxl
	@./.ci/examples
	@$(FAULTS)
	$(GO) test -vet=off -tags $(TAGS) -parallel 8 -timeout 12m ./...
	$(GO) test -vet=off -tags $(TAGS) -run '^$$' -bench . -benchtime 1x $$(grep -rlE '^func Benchmark' --include='*_test.go' --exclude-dir=bench . | xargs -n 1 dirname | sort -u)
	cd bench && $(GO) vet -tags $(TAGS) ./... && $(GO) test -vet=off -tags $(TAGS) ./...
	cd deploy/check && $(GO) vet ./... && $(GO) test -vet=off ./...
	@./.ci/deps node:nodejs npm:npm
	@./.ci/duckdb
	cd format/formattest/readers && $(GO) vet ./... && $(GO) test -vet=off ./...
	@$(MAKE) --no-print-directory docs
	@$(MAKE) --no-print-directory browser
	@GO="$(GO)" TAGS="$(TAGS)" ./.ci/mysql

browser: deps ## drive headless Chromium over all pages; PICTURES=DIR writes what it sees there
	@./.ci/deps chromium:chromium node:nodejs npm:npm
	cd dashboard/browser && $(GO) vet ./... && FANFOLD_AXE=$$(../../.ci/axe) FANFOLD_PICTURES=$(abspath $(PICTURES)) $(GO) test -vet=off -count 1 ./...

docs: ## write the documentation as a site to out/site
	@./.ci/deps mkdocs:mkdocs
	@! command -v apt-get >/dev/null || ./.ci/deps /usr/share/doc/mkdocs-material:mkdocs-material
	mkdocs build -q --strict

build: ## build ./fanfold
	$(GO) build -trimpath -tags $(TAGS) -ldflags '-s -w -X github.com/fanfold/fanfold/cmd/fanfold/command.version=$(VERSION)' -o fanfold ./cmd/fanfold

deps: ## install the servers that tests and demo start
	@./.ci/deps $(BASIC) $(POSTGRES)

vet:
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet -tags $(TAGS) ./...
	$(GO) vet -C internal/testenv/faults -tags $(TAGS) ./...

race: deps ## run all tests with the race detector (needs gcc)
	@./.ci/deps gcc:gcc zstd:zstd curl:curl luac5.4:lua5.4
	@./.ci/examples
	@$(FAULTS)
	CGO_ENABLED=1 $(GO) test -race -tags $(TAGS) -timeout 40m ./...

formats: ## read files of ROWS (1000000) rows back by DuckDB
	@./.ci/deps node:nodejs npm:npm
	@./.ci/duckdb
	cd format/formattest/readers && ROWS=$(or $(ROWS),1000000) $(GO) test -vet=off -count 1 -timeout 1h -v -run '^TestFilesInDuckDB$$' .

servers: deps ## run the tests on Valkey 8, Redis 8, MySQL, MariaDB 11, PostgreSQL 17, MinIO and servers like managed ones; ONLY=databases, redis or s3
	@./.ci/deps zstd:zstd curl:curl luac5.4:lua5.4
	@./.ci/examples
	@$(FAULTS)
	@GO="$(GO)" TAGS="$(TAGS)" SERVERS="$(SERVERS)" DATABASES="$(DATABASES)" STORES="$(STORES)" ONLY="$(ONLY)" ./.ci/servers

fuzz: deps ## run each fuzz target for a minute, and QUERIES (10000) random queries beside MariaDB
	FOLD_SEED=$(or $(SEED),$$(date +%s)) FOLD_QUERIES=$(or $(QUERIES),10000) $(GO) test -tags $(TAGS) -count 1 -timeout 1h \
		-run '^(TestRandomQueries|TestRandomBudgets|TestAsTheServers)$$' ./fold/query ./fold/collation
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do \
		for name in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' $$f | cut -d' ' -f2); do \
			$(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$$name$$" -fuzztime 1m ./$$(dirname $$f) || exit 1; \
		done; \
	done

tpch: deps ## run the reports of examples/tpch at SCALE (0.1) beside MariaDB
	TPCH_SCALE=$(or $(SCALE),0.1) $(GO) test -vet=off -tags $(TAGS) -timeout 1h -count 1 -v -run '^TestAsMariaDB$$' ./examples/tpch

chaos: deps ## let everything break for TIME (1h), from SEED on, also with SENTINEL=1 or CLUSTER=1
	CHAOS_REDIS=$(if $(CLUSTER),cluster,$(if $(SENTINEL),sentinel)) CHAOS=$(or $(TIME),1h) CHAOS_SEED=$(SEED) \
		CHAOS_STORM=$(or $(CHAOS_STORM),30s) CHAOS_JOBS=$(or $(CHAOS_JOBS),1000) \
		$(GO) test -tags $(TAGS) -timeout 0 -count 1 -v -run '^TestChaos$$' ./cmd/fanfold/chaos

# A fresh clone may have no tags and no history: then REV must be fetched first.
mixed: deps ## run REV (the last tag) and this version side by side over running jobs
	@rev="$(or $(REV),$(shell git describe --tags --abbrev=0 2>/dev/null))"; \
	test -n "$$rev" || { echo "no tag yet, or a shallow clone: name a revision with REV=, after git fetch --tags --unshallow"; exit 1; }; \
	git cat-file -e "$$rev^{commit}" 2>/dev/null || { echo "the revision $$rev is not in this clone: git fetch --tags --unshallow"; exit 1; }; \
	rm -rf out/previous && mkdir -p out/previous && git archive "$$rev" | tar -x -C out/previous && \
	$(GO) build -C out/previous -tags $(TAGS) -ldflags "-X github.com/fanfold/fanfold/cmd/fanfold/command.version=$$rev" -o ../fanfold-previous ./cmd/fanfold && \
	FANFOLD_PREVIOUS=$(CURDIR)/out/fanfold-previous $(GO) test -tags $(TAGS) -timeout 10m -count 1 -v -run '^TestReleasesSideBySide$$' ./cmd/fanfold/command

soak: deps ## live through a week of a company in TIME (30m)
	SOAK=$(or $(TIME),30m) $(GO) test -tags $(TAGS) -timeout 0 -count 1 -v -run '^TestSoak$$' ./cmd/fanfold/chaos

full: deps ## let jobs of ROWS (3000000) rows compete for a Redis that is too small for two of them
	FULL_ROWS=$(or $(ROWS),3000000) $(GO) test -tags $(TAGS) -timeout 0 -count 1 -v -run '^Test(.*LargeJobs.*OnAFullRedis|AJobLargerThanRedis)$$' ./cmd/fanfold/command

kills: deps ## kill workers 100 times while an API makes jobs for them, and workers and servers under many jobs
	HTTP_KILLS=100 CROWD=4 $(GO) test -tags $(TAGS) -timeout 0 -count 1 -v \
		-run '^Test(WorkersAreKilledAroundSubmits|ManyProcesses|Kill9|(Sentinel|Cluster)(Killed|Frozen|HandOver|SlotMoves))$$' \
		./cmd/fanfold/command

BENCH = cd bench && $(GO) run -tags $(TAGS) .

bench: deps ## measure beside other systems, and print what was measured
	@./.ci/deps rabbitmq-server:rabbitmq-server
	$(BENCH)
	$(BENCH) -table results.json -docs ../docs/explanation/benchmarks.md,../docs/explanation/scale.md,../docs/explanation/alternatives.md

bench-full: bench ## bench, and what takes long: joins of 10 million rows, a million jobs
	$(BENCH) -large
	$(BENCH) -table results.json -docs ../docs/explanation/benchmarks.md,../docs/explanation/scale.md,../docs/explanation/alternatives.md

# Runs benchmarks of one package with a CPU profile. With -trimpath it has no path of the machine.
PROFILE = $(GO) test -trimpath -vet=off -tags $(TAGS) -run '^$$' -benchtime 3s -o /dev/null -outputdir $(CURDIR)/out/pgo

# The name is not default.pgo: then go vet and go test, too, would compile every dependency again for cmd/fanfold.
pgo: deps ## renew the profile that releases are built with, cmd/fanfold/release.pgo, from benchmarks
	rm -rf out/pgo && mkdir -p out/pgo
	cd bench && $(GO) run -trimpath -tags $(TAGS) . -rounds 1 -jobs 20000 -profile $(CURDIR)/out/pgo/coordination.prof
	cd bench && $(PROFILE) -bench '^BenchmarkFolds$$' -cpuprofile folds.prof .
	$(PROFILE) -bench '^Benchmark(Fold|Merge|Spill)' -cpuprofile joins.prof ./fold
	$(PROFILE) -bench '^Benchmark(Writer|Runner)$$' -cpuprofile writer.prof ./listeners
	$(PROFILE) -bench '^BenchmarkRead$$' -cpuprofile read.prof ./listeners/mysql
	$(GO) tool pprof -proto -output cmd/fanfold/release.pgo out/pgo/*.prof

man: ## write man pages to out/man
	FANFOLD_MAN=$(CURDIR)/out/man $(GO) test -count 1 -tags $(TAGS) -run '^TestManPages$$' ./cmd/fanfold/command

# The newest one whose modules the Go module proxy has, and that this project's Go can build.
GORELEASER ?= $(GO) run github.com/goreleaser/goreleaser/v2@v2.16.0

HELM := helm.sh/helm/v3/cmd/helm@v3.22.0

chart: ## lint the Helm chart with Helm, and check what it renders
	mkdir -p out && GOBIN=$(CURDIR)/out $(GO) install $(HELM)
	FANFOLD_HELM=$(CURDIR)/out/helm $(GO) test -tags $(TAGS) -count 1 -run '^TestChart' ./cmd/fanfold/command

packages: ## build archives, deb and rpm packages in dist/, and check them
	@./.ci/deps systemd-analyze:systemd dpkg-deb:dpkg rpm:rpm
	$(GORELEASER) check
	$(GORELEASER) release --snapshot --clean --skip=publish
	./.ci/packages

clean: ## remove what was built and the demo's files
	rm -rf fanfold out dist bench/bullmq/node_modules bench/duckdb/node_modules examples/external/node/node_modules
