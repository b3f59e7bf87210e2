# Everything a developer or CI runs. `make check` is what must be green.
GO     ?= go
BIN    := bin/wavex
FUZZ   ?= 2000x
TIME   ?= 1h
J      ?= 4

PREFIX ?= /usr/local

.PHONY: install module reproducible build test clis mutate lint ceilings e2e e2e-core e2e-fleet bench bench-repos check fuzz pictures soak cross generate clean

# The core. The whole wavex, with workers and traces, is built by: make build MODULE=fleet
MODULE := .
build:
	$(GO) build -C $(MODULE) -o $(abspath $(BIN)) ./cmd/wavex

# Into PREFIX/bin, below DESTDIR for packagers.
install: build
	install -d "$(DESTDIR)$(PREFIX)/bin" && install -m 755 $(BIN) "$(DESTDIR)$(PREFIX)/bin/wavex"

# Give the module another path, everywhere: make module TO=github.com/YOU/wavex
module:
	@case "$(TO)" in */*) ;; *) echo "usage: make module TO=github.com/YOU/wavex" >&2; exit 2;; esac; \
	from=$$($(GO) list -m) && name=$$(echo "$$from" | sed 's/[.]/[.]/g') && new=$$(mktemp) && trap 'rm -f "$$new"' EXIT && \
	dirs=$$(git ls-files '*/*.go' | cut -d/ -f1 | sort -u | tr '\n' '|') && \
	place="s#(^|[^[:alnum:]_/.-])$$name/($${dirs}\")([^[:alnum:]_]|\$$)#\\1$(TO)/\\2\\3#g" && \
	git grep --untracked -lF "$$from/" -- ':!*.md' | while read -r f; do \
	  sed -E -e "$$place" -e "$$place" -e "s#(^|[[:space:]])$$name( v0| =>)#\\1$(TO)\\2#" "$$f" >"$$new" && cat "$$new" >"$$f" || exit; done && \
	sed "s#$$name/cmd/wavex@#$(TO)/cmd/wavex@#" README.md >"$$new" && cat "$$new" >README.md && \
	$(GO) mod edit -module "$(TO)" && echo "the module is $(TO) now, and was $$from"

# The tests of the packages, and a smoke test with the real CLI. See docs/testing.md.
test:
	@$(GO) run ./e2e/suite

# How the window of supported CLIs has to move, and how its releases differ; RELEASE="2.1.300 ..." for others.
clis:
	@e2e/clis.sh $(RELEASE)

# Random changes of the core, and the tests that notice them. See docs/testing.md.
mutate:
	@$(GO) run ./e2e/mutate -seed $(or $(SEED),1) -n $(or $(N),40) -time $(TIME) -only "$(ONLY)" $(if $(OWN),-own) $(PKG)

# Packages with goroutines with the race detector, of cmd and gitwork the tests in which much goes on at once; then those
# that run wavex as a program, with a browser and bubblewrap. SKIP=pattern leaves some out. Tests start their own program, too,
# which would wait a second at each end for reports of races.
e2e e2e-core e2e-fleet: export GORACE = atexit_sleep_ms=0
e2e: e2e-core e2e-fleet
e2e-core:
	@$(GO) run ./e2e/suite -whole -skip '$(SKIP)'
e2e-fleet: RACE = -race
e2e-fleet:
	cd fleet && $(GO) test -count=1 -timeout 15m -vet=off -ldflags=-w $(RACE) ./...

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi
	$(GO) vet ./... && cd fleet && $(GO) vet ./...
	staticcheck=$$($(GO) tool -n staticcheck) && $$staticcheck ./... && cd fleet && $$staticcheck ./...
	@WAVEX_E2E_WHOLE=1 $(GO) test -count=1 -run "Source|Subjects|FileOrder" ./internal/lint

# Lower the ceilings of internal/lint to the current counts.
ceilings:
	@$(GO) test -run Source ./internal/lint -update

# MODULES=. leaves the fleet out.
cross:
	for module in $(or $(MODULES),. fleet); do cd $(CURDIR)/$$module && GOOS=darwin $(GO) vet ./... && GOOS=windows $(GO) vet ./... || exit; done

# A short run of every fuzz target, counted: a run that ends by the clock fails now and then
# with "context deadline exceeded" and no input (golang/go#75804). Longer ones by hand with
# FUZZ=1000000x, or FUZZ=5m.
fuzz:
	@for module in . fleet; do $(GO) list -C $$module -f '{{.Dir}}' ./...; done | while read dir; do \
	  grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go 2>/dev/null | sed "s|func \(.*\)|\1 $$dir|"; done | \
	xargs -P 2 -n 2 sh -c 'out=$$($(GO) test -C $$1 -ldflags=-w -run "^$$" -fuzz "^$$0\$$" -fuzztime $(FUZZ) -fuzzminimizetime 100x -parallel 1 . 2>&1) || { echo "$$out"; echo "FAIL $$1 $$0"; exit 1; }; echo "fuzz $$1 $$0"'

# Random plans, killed and resumed for TIME, J of them side by side (Linux). SEED=n repeats one, with
# N=k those of k seeds. See docs/testing.md.
soak:
	cd e2e/soak && $(GO) test -count=1 -timeout 0 -run 'TestSoak$$' -args -j $(J) $(if $(SEED),-seed $(SEED) -n $(or $(N),1),-for $(TIME))

# Two builds of the tree, in two folders and with two caches, are the same bytes.
reproducible:
	@a=$$(mktemp -d); b=$$(mktemp -d); trap 'rm -rf "$$a" "$$b"' EXIT; \
	mkdir "$$a/src" && git ls-files -z | xargs -0 cp --parents -t "$$a/src" && cp -r "$$a/src" "$$b/elsewhere" && \
	for d in "$$a/src" "$$b/elsewhere"; do \
	  (cd "$$d" && GOFLAGS= GOCACHE="$$(dirname "$$d")/cache" CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w' -o ../wavex ./cmd/wavex) || exit 1; done; \
	cmp "$$a/wavex" "$$b/wavex" && echo "reproducible: $$(sha256sum < "$$a/wavex")"

bench:
	$(GO) test -run "^$$" -bench . -benchtime 1x -timeout 60m ./bench

# Runs in generated repositories: FILES=500,10000 for a quick look (60,000 files take 15 GB and half an
# hour), ROUNDS of each, AGAINST=PATH another wavex in turns; AGAINST=earlier builds that of before worktrees were
# handed on. See docs/performance.md.
bench-repos:
	$(GO) test -run "^$$" -bench Repos -benchtime 1x -timeout 3h ./bench -files $(or $(FILES),500,10000,60000) \
	  -rounds $(or $(ROUNDS),1) \
	  $(if $(AGAINST),-against $(if $(filter earlier,$(AGAINST)),earlier,$(abspath $(AGAINST))))

# The pictures of the README, from a rehearsal. Needs tmux and Chromium.
pictures:
	docs/pictures/make.sh

check: lint cross test fuzz build

clean:
	rm -rf bin
