# Targets that people use; `make help` lists them.
GO      ?= go
FUZZTIME ?= 10s
GENERATED := internal/sim/fluid/surface internal/nn/gemm internal/report/assets
SOURCES := $(shell find . -name '*.go' -not -path '*/node_modules/*')

DRIFT := internal/bench/testdata/drift.json

.PHONY: help build demo test test-browser check generate results drift bench fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/loadline ## build bin/loadline

bin/loadline: $(SOURCES) go.mod go.sum $(shell find internal -name '*.yaml' -o -name '*.bin')
	$(GO) build -trimpath -buildvcs=auto -o $@ ./cmd/loadline

demo: bin/loadline ## a generated day on bookinfo: under HPA, then four policies compared; picture and report in out/
	@mkdir -p out && rm -rf out/demo
	bin/loadline simulate --app bookinfo --workload day --scale 0.25 --policy hpa --seed 1 --svg out/demo.svg --out out/demo.txt
	@cat out/demo.txt
	@echo
	bin/loadline bench --suite demo --out out/demo
	bin/loadline report out/demo -o out/demo.html
	@echo "Picture of the day under HPA: out/demo.svg; report of the four: out/demo.html"

test: ## run all tests
	$(GO) test -timeout 9m ./...

test-browser: ## open a report in headless Chromium, light and dark; screenshots in out/browser
	npm --prefix test/browser ci --no-audit --no-fund
	$(GO) test -count=1 -run Browser -v ./internal/report

check: bin/loadline ## vet, staticcheck, formatting, generated files, layering, drift of results
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@unformatted=$$(gofmt -l $(SOURCES)); if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) test -run TestLayering .
	$(MAKE) generate
	@git diff --exit-code --stat -- $(GENERATED) || { echo "generated files were not up to date: commit them"; exit 1; }
	rm -rf out/drift
	bin/loadline bench --suite drift --out out/drift --expect $(DRIFT)

generate: ## make the generated files again: kernels, the fluid engine's surface, the report's page
	$(GO) generate ./...
	npm --prefix web ci --no-audit --no-fund
	npm --prefix web run build

results: bin/loadline ## run the suite of rivals and write docs/results.md (half an hour on two cores)
	rm -rf out/rivals
	bin/loadline bench --suite rivals --out out/rivals
	bin/loadline report out/rivals -o out/rivals.html
	bin/loadline report out/rivals -o out/rivals.md
	{ cat docs/results.head.md; echo "Commit $$(git rev-parse --short HEAD)."; echo; cat out/rivals.md; } > docs/results.md

drift: bin/loadline ## accept the present figures as the ones that check compares with
	rm -rf out/drift
	bin/loadline bench --suite drift --out out/drift
	cp out/drift/results.json $(DRIFT)

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

fuzz: ## fuzz every parser and guard for FUZZTIME each
	@$(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./... | while read -r dir; do \
		for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2>/dev/null | sed 's/^func //'); do \
			echo "$$target in $$dir"; \
			(cd "$$dir" && $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) .) || exit 1; \
		done; \
	done

clean: ## remove what was built
	rm -rf bin out
