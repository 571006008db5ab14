# Targets that people use; `make help` lists them.
GO      ?= go
# The same flags for the product, the tests and the binaries of test/cluster: Go then
# compiles nothing twice.
export CGO_ENABLED ?= 0
export GOFLAGS     ?= -trimpath
FUZZTIME ?= 10s
GENERATED := internal/sim/fluid/surface internal/nn/gemm internal/report/assets internal/sandbox/serve/assets internal/console/page/assets
SOURCES := $(shell find . -name '*.go' -not -path '*/node_modules/*')

SCENARIOS ?= 8
DRIFT := internal/bench/testdata/drift.json

.PHONY: help build sandbox recording image app-image pause-image sbom man node-image demo test test-browser test-grafana test-crd test-cluster test-node study-node test-karpenter chaos scale check nightly generate generate-crd generate-chart generate-proto results bar bar-rules planner regimes seasons papers drift bench fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/loadline bin/loadline-lab ## build bin/loadline and bin/loadline-lab

# Without symbols, which `go version -m` and stack traces do not need, and without gRPC's
# trace pages: docs/adr/0013-binary-size.md has the figures.
BUILD := $(GO) build -trimpath -buildvcs=auto -tags grpcnotrace -ldflags "-s -w"
PARTS := $(SOURCES) go.mod go.sum $(shell find internal -name '*.yaml' -o -name '*.bin' -o -path '*/assets/*') lab/validate/cfs_quota.csv $(wildcard lab/data/*/*.csv)

bin/loadline bin/loadline-lab: bin/%: $(PARTS)
	$(BUILD) -o $@ ./cmd/$*

# The engine for browsers, and Go's support for it, which must be of the same version of Go.
WASM := out/wasm

$(WASM)/engine.wasm: $(PARTS)
	@mkdir -p $(WASM)
	GOOS=js GOARCH=wasm $(GO) build -trimpath -ldflags "-s -w" -o $@ ./cmd/loadline-wasm
	cp "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" $(WASM)/

sandbox: bin/loadline $(WASM)/engine.wasm ## write the sandbox as a static folder, out/sandbox, that any web server can serve
	bin/loadline sandbox --static out/sandbox --engine $(WASM)
	@ls -l out/sandbox

recording: bin/loadline ## record the sandbox for the README: docs/images/sandbox.gif, and pictures of both themes (needs Node, Chromium and make test-browser's modules)
	npm --prefix test/browser ci --no-audit --no-fund
	rm -rf out/recording
	node test/browser/record.mjs bin/loadline out/recording
	$(GO) run ./tools/recording -o docs/images/sandbox.gif out/recording/frame-*.png
	cp out/recording/sandbox-light.png out/recording/sandbox-dark.png out/recording/sandbox-phone.png docs/images/

# The version is said once, in the chart.
VERSION := $(shell sed -n 's/^appVersion: *//p' deploy/chart/loadline/Chart.yaml)
PLATFORMS ?= linux/amd64,linux/arm64

# Where the image goes, and what builds it: a release sets both.
IMAGES ?= loadline.dev
BUILDER ?=

image: ## make out/loadline-VERSION.tar and out/loadline-lab-VERSION.tar, images for amd64 and arm64, without a container engine, with their bills of materials and provenance; PLATFORMS=linux/arm64 for one
	for program in loadline loadline-lab; do \
		$(GO) run ./tools/image -package ./cmd/$$program -name $(IMAGES)/$$program -version $(VERSION) -platforms $(PLATFORMS) $(if $(BUILDER),-builder $(BUILDER)) -o out/$$program-$(VERSION).tar || exit 1; \
	done

app-image: ## make out/app.tar, the image with which `loadline-lab deploy` plays application models for real
	$(GO) run ./tools/image -package ./test/node/app -name loadline.dev/app -version 1 -platforms linux/$$($(GO) env GOARCH) -ca none -npm none -o out/app.tar

pause-image: ## make out/pause.tar, the image that holds the namespaces of test-node's pods
	$(GO) run ./tools/image -package ./test/node/pause -name loadline.dev/pause -version 1 -platforms linux/$$($(GO) env GOARCH) -ca none -npm none -o out/pause.tar

sbom: build ## write the bill of materials of both programs in SPDX 2.3, out/sbom-VERSION.spdx.json
	$(GO) run ./tools/sbom -version $(VERSION) -o out/sbom-$(VERSION).spdx.json bin/loadline bin/loadline-lab

man: bin/loadline ## write the manual pages of all commands to out/man
	bin/loadline man -o out/man

# The demo runs the commands that a user runs with a cluster.
DEMO := out/demo
DEMO_WEEK := diurnal:low=20,high=100,peak=15h+noise:cv=0.06,corr=5m

demo: bin/loadline ## from a week of metrics to a verdict: record, fit, train, tune, evaluate (two minutes on two cores); report in out/demo
	@mkdir -p out && rm -rf $(DEMO)
	@echo "1. Record a week of bookinfo under HPA at 80 %, on nodes of which others use half, as Prometheus would have stored it"
	bin/loadline history record --app bookinfo --workload "$(DEMO_WEEK)" --duration 7d --policy hpa --neighbours use=0.5 -o $(DEMO)/past
	@echo; echo "2. Fit a twin to five days and train candidates on it; the sixth is for selection, the seventh for the test"
	bin/loadline train --history $(DEMO)/past --objective "99% < 250ms" --held-out 0.1429 --candidates 4 -o $(DEMO)/run
	@echo; echo "3. Search the best settings of HPA and KEDA and choose a candidate on the sixth day: the planner, or what was trained. Judge both"
	@echo "   on the seventh against HPA at 80 %; then see whether what saves also holds on busier nodes and with other values of what the"
	@echo "   history does not show"
	bin/loadline evaluate $(DEMO)/run --today hpa --stretch 40m; code=$$?; case $$code in 0|3|4|5) ;; *) exit $$code;; esac # a verdict
	@echo; echo "4. What to apply"
	bin/loadline evaluate $(DEMO)/run --today hpa --stretch 40m --output yaml | head -45
	@echo
	@echo "Report with every run: $(DEMO)/run/report.html"
	@echo "With your own cluster:"
	@echo "  bin/loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past"
	@echo "  bin/loadline tune --history past --objective \"99% < 300ms\" -o shop     # the best settings of what you have, sizes too"
	@echo "  bin/loadline train --history past --objective \"99% < 300ms\" -o shop"
	@echo "  bin/loadline evaluate shop && bin/loadline promote shop"

# Tests have no bounds of their own for what must come: this timeout is the bound, also
# on a machine that is busy with other things.
test: ## run all tests
	$(GO) test -timeout 40m ./...

test-browser: ## open a report, the sandbox and the console in headless Chromium, light and dark; screenshots in out/browser
	npm --prefix test/browser ci --no-audit --no-fund
	LOADLINE_BROWSER=1 $(GO) test -count=1 -run Browser -v ./internal/report ./internal/sandbox/serve ./internal/cli

test-grafana: ## hold the dashboards against Grafana's own types
	npm --prefix test/grafana ci --no-audit --no-fund --ignore-scripts
	npm --prefix test/grafana test

test-crd: ## hold the resource, manifests and chart against the code of the API server, Helm and Kustomize (two minutes the first time)
	cd test/crd && $(GO) vet ./... && $(GO) test -count=1 ./...

# Scenarios run in parallel, each in a namespace of one cluster, and chaos beside them (-p):
# they mostly wait. LOADLINE_PRODUCT saves each package a build of its own.
test-cluster: bin/loadline ## run the tests that need a real Kubernetes (builds it the first time: a quarter of an hour or more; then 25 minutes, most of it waiting)
	cd test/cluster && export GOFLAGS="$(GOFLAGS) -buildvcs=false" && $(GO) run ./cmd/binaries && $(GO) vet ./... && \
	LOADLINE_PRODUCT=$(CURDIR)/bin/loadline $(GO) test -v -count=1 -timeout 40m -p 3 -parallel $(SCENARIOS) ./...

node-image: ## make out/loadline-node.tar, the product's image for test-node
	$(GO) run ./tools/image -package ./cmd/loadline -name loadline.dev/loadline -version node -platforms linux/$$($(GO) env GOARCH) -ca none -npm none -o out/loadline-node.tar

# Needs root, and the packages containerd runc containernetworking-plugins iproute2 iptables etcd-server prometheus.
test-node: app-image pause-image node-image ## run the tests that need real containers under a real kubelet (root; skipped with the reason elsewhere)
	cd test/cluster && export GOFLAGS="$(GOFLAGS) -buildvcs=false" && $(GO) run ./cmd/binaries -node -knative && $(GO) test -v -count=1 -timeout 30m ./node

# What is there is kept: run again, it measures what is missing. Pods have core 1, everything else the others.
STUDY      ?= lab/data/node/measured.csv
STUDY_FOR  ?= 25m
STUDY_RUNS ?=

study-node: app-image pause-image ## measure real pods beside their predictions, on a machine where nothing else runs; STUDY_FOR=25m STUDY_RUNS=weights/ STUDY=FILE
	cd test/cluster && export GOFLAGS="$(GOFLAGS) -buildvcs=false" && $(GO) run ./cmd/binaries -node && LOADLINE_NODE_CORES=1 \
	LOADLINE_STUDY=$(abspath $(STUDY)) LOADLINE_STUDY_FOR=$(STUDY_FOR) LOADLINE_STUDY_RUNS='$(STUDY_RUNS)' \
	$(GO) test -v -count=1 -timeout 60m -run TestStudy ./node

# The same seed gives the same faults and the same load. CI runs three seeds of three minutes
# as part of test-cluster.
SEED  ?= 1
CHAOS ?= 20m

chaos: bin/loadline ## break everything around Loadline on a real Kubernetes, by a seeded plan, and check its promises; SEED=7 CHAOS=24h
	cd test/cluster && export GOFLAGS="$(GOFLAGS) -buildvcs=false" && $(GO) run ./cmd/binaries && \
	LOADLINE_PRODUCT=$(CURDIR)/bin/loadline SEED=$(SEED) CHAOS=$(CHAOS) $(GO) test -v -count=1 -timeout 30h -run 'TestChaos$$' ./chaos

# SCALE_ONLY="200 LoadLines" runs one layout, SCALE_FOR=3m measures longer. CI runs a small layout as part of test-cluster.
scale: bin/loadline ## measure Loadline with 2,000 and 10,000 services on a real Kubernetes (twenty minutes)
	cd test/cluster && export GOFLAGS="$(GOFLAGS) -buildvcs=false" && $(GO) run ./cmd/binaries && \
	LOADLINE_PRODUCT=$(CURDIR)/bin/loadline SCALE=nightly $(GO) test -v -count=1 -timeout 2h -run 'TestScale$$' ./scale

# Each scene has a cluster of its own and mostly waits.
test-karpenter: ## hold the simulated node pool against Karpenter (builds it the first time: minutes; then twenty minutes); UPDATE=-update keeps what Karpenter did
	cd test/cluster && export GOFLAGS="$(GOFLAGS) -buildvcs=false" && $(GO) run ./cmd/binaries -karpenter && \
	LOADLINE_NIGHTLY=1 $(GO) test -v -count=1 -timeout 60m -parallel 4 -run Karpenter . $(UPDATE)

check: bin/loadline ## vet, staticcheck, formatting, generated files, layering, drift of results
	$(GO) vet ./...
	GOOS=js GOARCH=wasm $(GO) vet ./cmd/loadline-wasm ./internal/sandbox
	$(GO) tool staticcheck ./...
	@unformatted=$$(gofmt -l $(SOURCES)); if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) test -run TestLayering .
	$(MAKE) generate
	@git diff --exit-code --stat -- $(GENERATED) || { echo "generated files were not up to date: commit them"; exit 1; }
	rm -rf out/drift
	bin/loadline bench --suite drift --out out/drift --expect $(DRIFT)

generate: ## make the generated files again: kernels, the fluid engine's surface, the pages of the report, the sandbox and the console
	$(GO) generate ./...
	npm --prefix web ci --no-audit --no-fund
	npm --prefix web run build

# Apart from generate: it needs protoc, and is needed only when the protocol changes.
generate-proto: ## make the Go files of KEDA's protocol again (needs protoc: apt-get install protobuf-compiler)
	internal/kedascaler/externalscaler/generate.sh

# The generator needs the API server's modules, so it is a tool of test/crd; make test-crd
# finds what is not up to date.
generate-crd: ## make deploy/crd and the deep copies from api/v1alpha1 again (a minute the first time, then seconds)
	"$$(cd test/crd && $(GO) tool -n controller-gen)" object crd paths=./api/... output:crd:dir=deploy/crd
	$(MAKE) generate-chart

# A chart cannot reach beyond its folder, so it has copies; make test-crd compares them.
generate-chart: ## copy the definition, the roles and the admission policy into the chart
	cp deploy/crd/*.yaml deploy/rbac/cluster-role.yaml deploy/rbac/leader-election.yaml deploy/rbac/optional-*.yaml deploy/rbac/classes.yaml deploy/rbac/console.yaml deploy/admission/pod-size.yaml deploy/optional/reserve.yaml deploy/optional/knative.yaml deploy/optional/prometheus-rules.yaml deploy/grafana/*.json deploy/chart/loadline/files/

OLD_POLICIES := --policy hpa --policy ursa --policy vpa --policy autothrottle --policy 'no autoscaling: static:replicas=1,cpu=0.05,limit=2'

results: bin/loadline ## run the suites contention, scale and tuned and write docs/results.md (about an hour on two cores)
	rm -rf out/contention out/scale out/tuned out/rivals
	for suite in contention scale tuned rivals; do \
		case $$suite in scale) set -- --seeds 3;; rivals) set -- --app boutique $(OLD_POLICIES);; *) set --;; esac; \
		bin/loadline bench --suite $$suite "$$@" --out out/$$suite && bin/loadline report out/$$suite -o out/$$suite.html && bin/loadline report out/$$suite -o out/$$suite.md || exit 1; \
	done
	{ cat docs/results.head.md; echo "Commit $$(git rev-parse --short HEAD)."; echo; \
	printf '# What a request is worth\n\n'; cat out/contention.md; \
	printf '\n# Where the number of nodes matters\n\n'; cat out/scale.md; \
	printf '\n# Calibrated, and one setting for all scenes\n\n'; cat out/tuned.md; \
	printf '\n# The old account: empty nodes of a fixed number\n\n'; cat out/rivals.md; } > docs/results.md

bar: bin/loadline ## run the suite bar and write docs/bar.md (an hour and a half on two cores; run again, it resumes)
	bin/loadline bench --suite bar --redo --out out/bar && bin/loadline report out/bar -o out/bar.html && bin/loadline report out/bar -o out/bar.md
	{ printf '# The bar\n\nMade by `make bar` at commit %s; the set-up is in [results.md](results.md).\n\n' "$$(git rev-parse --short HEAD)"; cat out/bar.md; } > docs/bar.md

bar-rules: bin/loadline ## run the suite bar-rules, rules tuned for the scenes of bar, and write docs/bar-rules.md (some hours on two cores; shares runs with bar)
	bin/loadline bench --suite bar-rules --redo --out out/bar && bin/loadline report out/bar -o out/bar-rules.html && bin/loadline report out/bar -o out/bar-rules.md
	{ printf '# Tuned rules on the scenes of bar\n\nMade by `make bar-rules` at commit %s; the scenes are those of [bar.md](bar.md).\n\n' "$$(git rev-parse --short HEAD)"; cat out/bar-rules.md; } > docs/bar-rules.md

planner: bin/loadline ## run the suite planner, the planner without its parts, and write docs/ablations.md (some hours on two cores; shares runs with bar)
	bin/loadline bench --suite planner --redo --out out/bar && bin/loadline report out/bar -o out/planner.html && bin/loadline report out/bar -o out/planner.md
	{ printf '# The planner without its parts\n\nMade by `make planner` at commit %s; the scenes are those of [bar.md](bar.md).\n\n' "$$(git rev-parse --short HEAD)"; cat out/planner.md; } > docs/ablations.md

regimes: bin/loadline ## run the suite regimes and write docs/regimes.md (about an hour on two cores)
	bin/loadline bench --suite regimes --redo --out out/regimes && bin/loadline report out/regimes -o out/regimes.html && bin/loadline report out/regimes -o out/regimes.md
	{ cat docs/regimes.head.md; echo "Made by \`make regimes\` at commit $$(git rev-parse --short HEAD)."; echo; cat out/regimes.md; } > docs/regimes.md

seasons: bin/loadline ## run the suite seasons and write docs/seasons.md (about an hour on two cores)
	bin/loadline bench --suite seasons --redo --out out/seasons && bin/loadline report out/seasons -o out/seasons.html && bin/loadline report out/seasons -o out/seasons.md
	{ printf '# Two weeks\n\nMade by `make seasons` at commit %s. Scenes: `internal/bench/suites_seasons.go`.\n\n' "$$(git rev-parse --short HEAD)"; cat out/seasons.md; } > docs/seasons.md

papers: bin/loadline-lab ## run the papers' experiments and studies and write docs/papers.md (about two hours on two cores; what was trained is kept in out/papers/models)
	for p in scaling-ops serverless elastic-dqn drpc msars; do bin/loadline-lab paper $$p --out out/papers > /dev/null || exit 1; done
	for s in gamma learning-rate sampling loss data-size; do bin/loadline-lab study $$s --out out/papers > /dev/null || exit 1; done
	{ cat docs/papers.head.md; echo; echo "---"; echo; echo "Commit $$(git rev-parse --short HEAD), seeds 1 to 5."; echo; \
	for p in scaling-ops serverless elastic-dqn drpc msars gamma learning-rate sampling loss data-size; do cat out/papers/$$p.md; done; } > docs/papers.md

drift: bin/loadline ## accept the present figures as the ones that check compares with
	rm -rf out/drift
	bin/loadline bench --suite drift --out out/drift
	cp out/drift/results.json $(DRIFT)

bench: ## run the benchmarks; at the end, what is measured beside its limit
	@mkdir -p out
	$(GO) test -run '^$$' -bench . -benchmem ./... > out/bench.txt || { cat out/bench.txt; exit 1; }
	@cat out/bench.txt
	@awk -f tools/benchlimits.awk out/bench.txt

# What takes longer than a change can wait for. Run it before a release. `.ci/nightly fuzz papers`
# runs these parts only; FUZZTIME=30s shortens fuzzing.
nightly: ## everything that is too long for CI, with a table of times: all tests anew, fuzzing, the papers' quick runs, chaos, scale, real nodes, Karpenter, long benchmarks (some hours)
	.ci/nightly

# Without a bound on minimisation, the first input that reaches new code is made shorter for a
# minute, which is longer than FUZZTIME: large inputs were hardly fuzzed at all. Go reports a target
# whose time ends during an input as failed by its deadline, which is no finding.
FUZZFLAGS ?= -fuzzminimizetime 100x -parallel 2
# Targets that write files force them to disk, which is a hundred times slower than memory. The test
# program itself stays on disk: it could not be run from a folder that is mounted noexec.
FUZZTMP := $(firstword $(wildcard /dev/shm) $(TMPDIR) /tmp)

fuzz: ## fuzz every parser and guard for FUZZTIME each; at the end, how many inputs each target was run with (out/fuzz.txt)
	@mkdir -p out && rm -f out/fuzz.txt
	@$(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... | while read -r dir; do \
		for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2>/dev/null | sed 's/^func //'); do \
			echo "target: $${dir#$(CURDIR)/} $$target" | tee -a out/fuzz.txt; \
			(cd "$$dir" && TMPDIR=$(FUZZTMP) GOTMPDIR=$(firstword $(TMPDIR) /tmp) $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $(FUZZFLAGS) .) > out/fuzz.last 2>&1 || { \
				grep -q 'context deadline exceeded' out/fuzz.last && ! grep -qE 'Failing input|panic:|_test\.go:' out/fuzz.last || { cat out/fuzz.last; exit 1; }; \
			}; \
			cat out/fuzz.last >> out/fuzz.txt; \
		done; \
	done
	@awk -f tools/fuzzlimits.awk out/fuzz.txt

clean: ## remove what was built
	rm -rf bin out
