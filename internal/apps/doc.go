// Package apps reads, checks, draws and writes models of applications.
//
// A model is one YAML file; several are embedded (see [Names]). [Parse] turns it into a
// [loadline.App] or reports every fault at once, each a [Fault] with its file, line, field,
// value and what the value must be. A field without a default below is required.
//
//	version: 1                    # of this format
//	name: shop
//	description: what it is, and what it is not
//	origins:                      # where the figures come from
//	  bench: {kind: measured, source: "wrk2 on one core, 2026-01-07"}
//	  guess: {kind: assumed, source: "usual for a Go service"}
//	routing: random               # default; or least-request, keep-alive
//	keepAlive:                    # with keep-alive only: connections that stay with the replica they were opened to
//	  connections: 10             # of a calling replica to a service (default)
//	  users: 100                  # of the clients of one kind together (default)
//	  lifetime: 5m                # default; 0s = as long as the replica is ready
//	nodes:
//	  small: {count: 3, cores: 4, memory: 16Gi}        # count: default 1
//	services:
//	  front:
//	    cpu: {mean: !bench 3.1ms, cv: !guess 0.8}      # cv: default 1; shape: lognormal (default) or exponential
//	    wait: !guess 1ms          # default 0; a plain duration is {mean: ...}
//	    idle: 2m                  # cores burnt without requests; default 0
//	    workers: 32
//	    backlog: 64               # default: ten times the workers
//	    hold: 1000                # requests held while no replica is ready; default 0: they are refused
//	    memory: {base: 40Mi, perRequest: 64Ki}         # perRequest: default 0
//	    startup: {mean: 2s, cv: 0.2}                   # cv: default 0.2
//	    startupCPU: 1             # cores used while it starts; default 0
//	    contention: 0.02          # CPU that each other request at work adds to a visit, as a share; default 0
//	    replicas: 2               # default: the lower bound
//	    size:                     # per replica; no limit = none
//	      cpu: {request: 100m, limit: 200m}
//	      memory: {request: 64Mi, limit: 128Mi}
//	    bounds: {replicas: [1, 20], cpu: [50m, 2], memory: [32Mi, 1Gi]}
//	    versions:                 # default: one that changes nothing
//	      v1: {weight: 1}
//	      v2: {weight: 1, cpu: 1.4, wait: 1}           # factors: default 1
//	    optionalPrice: 0.2        # default 1: as dear as a request over its SLO
//	    retryBudget: 0.2          # retries, as a share of its calls that have retries; default: no limit
//	calls:                        # sub-trees to share
//	  stock: {service: back, stages: [db]}
//	kinds:
//	  buy:
//	    share: 3                  # default 1
//	    slo: {percentile: 99, latency: 250ms}
//	    timeout: 5s               # of one attempt; default: no timeout
//	    retries: {attempts: 2, backoff: 100ms}         # by the client, after the first attempt; backoff: default 25ms
//	    retryBudget: 0.2          # of all clients of the kind; default: no limit
//	    users:                    # a closed loop; default: requests arrive independently of replies
//	      requests: 10            # of one user; users arrive at a tenth of the load's rate
//	      think: 5s               # from a reply to the next request; cv: default 1
//	      patience: 2s            # a user leaves after a request that failed or took longer,
//	      leave: 0.5              # with this probability
//	    call:
//	      service: front
//	      stages:                 # one after the other
//	        - auth                # a plain call: always, once, work 1
//	        - - {use: stock, times: 2}                 # the calls of one stage run in parallel
//	          - {service: ads, optional: true, probability: 0.5, work: 2, versions: [v2],
//	             timeout: 100ms, retries: {attempts: 1}}    # by the caller; default: none
//
// Durations are written "3.1ms", CPU in cores "250m" or 0.25, memory "64Mi". A call with use
// takes the shared sub-tree; its own fields (probability, times, work, optional, versions,
// timeout, retries) override the sub-tree's. A service may not be its own ancestor in a call
// tree: a worker is occupied while it waits for its calls, so such a tree could deadlock.
//
// What the options of clients (keepAlive, timeout, retries, retryBudget, users) mean in detail is
// in docs/clients.md.
//
// Provenance is a YAML tag that names an origin. A tag on a mapping or list applies to every
// figure under it unless a closer tag overrides it. A figure without a tag counts as unmarked,
// one that is left to its default as defaulted ([Check] gives the shares).
package apps
