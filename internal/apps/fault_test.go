package apps

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// shop is a valid model; the tests change one line of it. Lines count from 1.
const shop = `version: 1
name: shop
origins:
  bench: {kind: measured, source: "a bench"}
nodes:
  node: {count: 2, cores: 4, memory: 8Gi}
services:
  front:
    cpu: {mean: 2ms, cv: 0.5}
    workers: 8
    memory: {base: 32Mi, perRequest: 64Ki}
    startup: 1s
    replicas: 2
    size:
      cpu: {request: 100m, limit: 200m}
      memory: {request: 64Mi, limit: 128Mi}
    bounds: {replicas: [1, 9], cpu: [50m, 2], memory: [32Mi, 1Gi]}
    versions:
      v1: {weight: 1}
      v2: {weight: 1, cpu: 1.5}
  back:
    cpu: !bench 1ms
    workers: 8
    memory: {base: 32Mi}
    startup: 1s
    size:
      cpu: {request: 100m}
      memory: {request: 64Mi}
    bounds: {replicas: [1, 9], cpu: [50m, 2], memory: [32Mi, 1Gi]}
calls:
  twice: {service: back, times: 2}
kinds:
  get:
    slo: {percentile: 99, latency: 100ms}
    call: {service: front, stages: [{use: twice}]}
  put:
    slo: {percentile: 99, latency: 100ms}
    call: {service: front, stages: [{service: back, probability: 0.5, versions: [v2]}]}
`

func faultsOf(err error) []Fault {
	var faults []Fault
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, e := range joined.Unwrap() {
		if f := (Fault{}); errors.As(e, &f) {
			faults = append(faults, f)
		}
	}
	return faults
}

func TestSoundModelHasNoFaults(t *testing.T) {
	if _, err := Parse("shop.yaml", []byte(shop)); err != nil {
		t.Fatal(err)
	}
}

func TestEveryFaultIsNamedWithItsLine(t *testing.T) {
	tests := []struct {
		name     string
		old, new string // in the shop
		line     int
		field    string
		value    string
		want     string // part of it
	}{
		{"an unknown format version", "version: 1", "version: 7", 1, "version", "7", "1"},
		{"no format version", "version: 1\n", "", 1, "version", "", "1"},
		{"no name", "name: shop\n", "", 1, "name", "", "the application's name"},
		{"an unknown field with its nearest", "workers: 8\n    memory: {base: 32Mi, p", "wrokers: 8\n    memory: {base: 32Mi, p", 10,
			"services.front.wrokers", "wrokers", `did you mean "workers"`},
		{"a field written twice", "    workers: 8\n    memory: {base: 32Mi, p",
			"    workers: 8\n    workers: 9\n    memory: {base: 32Mi, p", 11, "services.front.workers", "workers", "line 10"},
		{"a service written twice", "  back:\n", "  front:\n", 21, "services.front", "front", "line 8"},
		{"an absent CPU demand", "    cpu: !bench 1ms\n", "", 21, "services.back.cpu", "", "a duration above 0"},
		{"absent workers", "    workers: 8\n    memory: {base: 32Mi, p", "    memory: {base: 32Mi, p", 8, "services.front.workers", "",
			"a whole number from 1"},
		{"an absent SLO", "    slo: {percentile: 99, latency: 100ms}\n    call: {service: front, stages: [{use",
			"    call: {service: front, stages: [{use", 33, "kinds.get.slo", "", "percentile"},
		{"a negative duration", "mean: 2ms", "mean: -2ms", 9, "services.front.cpu.mean", "-2ms", "above 0"},
		{"a duration without unit", "mean: 2ms", "mean: 2", 9, "services.front.cpu.mean", "2", "such as 3.1ms"},
		{"a variation that is no number", "cv: 0.5", "cv: .nan", 9, "services.front.cpu.cv", ".nan", "0 or more"},
		{"an infinite variation", "cv: 0.5", "cv: .inf", 9, "services.front.cpu.cv", ".inf", "0 or more"},
		{"NaN as a weight", "v1: {weight: 1}", "v1: {weight: NaN}", 19, "services.front.versions.v1.weight", "NaN", "0 or more"},
		{"a negative count", "replicas: 2", "replicas: -2", 13, "services.front.replicas", "-2", "a whole number"},
		{"a negative hold", "replicas: 2", "hold: -1", 13, "services.front.hold", "-1", "a whole number from 0"},
		{"a variation beside an exponential shape", "cv: 0.5}", "cv: 0.5, shape: exponential}", 9, "services.front.cpu.cv", "0.5",
			"exponential"},
		{"an unknown shape", "cv: 0.5}", "shape: lognromal}", 9, "services.front.cpu.shape", "lognromal", `did you mean "lognormal"`},
		{"memory in an unknown unit", "base: 32Mi, p", "base: 32MB, p", 11, "services.front.memory.base", "32MB", "such as 64Mi"},
		{"a lower bound above the upper one", "replicas: [1, 9], cpu: [50m, 2], memory: [32Mi, 1Gi]}\n    v",
			"replicas: [9, 1], cpu: [50m, 2], memory: [32Mi, 1Gi]}\n    v", 17, "services.front.bounds.replicas", "[9, 1]",
			"the least first"},
		{"replicas outside their bounds", "replicas: 2", "replicas: 12", 13, "services.front.replicas", "12", "[1, 9]"},
		{"a CPU request outside its bounds", "request: 100m, limit: 200m", "request: 10m, limit: 200m", 15,
			"services.front.size.cpu.request", "10m", "[50m, 2]"},
		{"a memory limit outside its bounds", "limit: 128Mi", "limit: 2Gi", 16, "services.front.size.memory.limit", "2Gi", "[32Mi, 1Gi]"},
		{"a CPU request above its limit", "request: 100m, limit: 200m", "request: 300m, limit: 200m", 15,
			"services.front.size.cpu.request", "300m", "at most the limit, 200m"},
		{"a memory request above its limit", "request: 64Mi, limit: 128Mi", "request: 256Mi, limit: 128Mi", 16,
			"services.front.size.memory.request", "256Mi", "at most the limit, 128Mi"},
		{"more memory than the limit before any request", "base: 32Mi, p", "base: 256Mi, p", 11, "services.front.memory.base", "256Mi",
			"at most the memory limit, 128Mi"},
		{"a percentile of 100", "{percentile: 99, latency: 100ms}\n    call: {service: front, stages: [{use",
			"{percentile: 100, latency: 100ms}\n    call: {service: front, stages: [{use", 34, "kinds.get.slo.percentile", "100",
			"below 100"},
		{"a probability of 0", "probability: 0.5", "probability: 0", 38, "kinds.put.call.stages[0].probability", "0",
			"above 0 and at most 1"},
		{"a probability above 1", "probability: 0.5", "probability: 1.5", 38, "kinds.put.call.stages[0].probability", "1.5",
			"above 0 and at most 1"},
		{"an unknown service with its nearest", "{service: back, probability", "{service: bakc, probability", 38,
			"kinds.put.call.stages[0]", "bakc", `did you mean "back"`},
		{"an unknown sub-tree with its nearest", "{use: twice}", "{use: twise}", 35, "kinds.get.call.stages[0].use", "twise",
			`did you mean "twice"`},
		{"a version that the caller has not", "versions: [v2]", "versions: [v3]", 38, "kinds.put.call.stages[0].versions[0]", "v3",
			"a version of the calling service front"},
		{"versions on the users' own call", "call: {service: front, stages: [{use: twice}]}", "call: {service: front, versions: [v1]}",
			35, "kinds.get.call.versions", "v1", "left out"},
		{"all versions of weight 0", "v1: {weight: 1}\n      v2: {weight: 1,", "v1: {weight: 0}\n      v2: {weight: 0,", 18,
			"services.front.versions", "all of weight 0", "one at least"},
		{"a sub-tree that contains itself", "twice: {service: back, times: 2}", "twice: {service: back, stages: [{use: twice}]}", 31,
			"calls.twice", "twice -> twice", "may not contain itself"},
		{"sub-trees that contain each other", "twice: {service: back, times: 2}",
			"twice: {use: once}\n  once: {service: back, stages: [{use: twice}]}", 31, "calls.twice", "twice -> once -> twice",
			"may not contain itself"},
		{"a service that is its own ancestor", "twice: {service: back, times: 2}", "twice: {service: back, stages: [front]}", 31,
			"calls.twice.stages[0]", "front -> back -> front", "deadlock"},
		{"both a service and a sub-tree", "{use: twice}", "{use: twice, service: back}", 35, "kinds.get.call.stages[0].use", "twice",
			"left out"},
		{"neither a service nor a sub-tree", "{use: twice}", "{times: 2}", 35, "kinds.get.call.stages[0].service", "",
			"the name of the called service"},
		{"stages beside a sub-tree", "{use: twice}", "{use: twice, stages: [back]}", 35, "kinds.get.call.stages[0].stages",
			"a list of 1", "left out"},
		{"an empty stage", "stages: [{use: twice}]", "stages: [[]]", 35, "kinds.get.call.stages[0]", "[]", "a call or a list of calls"},
		{"too many times", "times: 2}", "times: 5000}", 31, "calls.twice.times", "5000", "from 1 to 1000"},
		{"replicas that do not fit the nodes", "cores: 4, memory", "cores: 0.15, memory", 21, "services.back.replicas", "1",
			"fit the nodes"},
		{"no room for a single replica", "memory: 8Gi", "memory: 32Mi", 8, "services.front.replicas", "2", "0 of them do"},
		{"a tag that names no origin", "!bench", "!bensh", 22, "services.back.cpu", "!bensh", `did you mean "bench"`},
		{"an unknown kind of origin", "kind: measured", "kind: guessed", 4, "origins.bench.kind", "guessed",
			"one of assumed, documented, measured"},
		{"an origin without source", `, source: "a bench"`, "", 4, "origins.bench.source", "", "where the figures come from"},
		{"an unknown routing", "name: shop", "name: shop\nrouting: least-requests", 3, "routing", "least-requests",
			`did you mean "least-request"`},
		{"an alias", "startup: 1s\n    replicas", "startup: &s 1s\n    wait: *s\n    replicas", 13, "services.front.wait", "*s",
			"written out"},
		{"a list where a mapping must be", "memory: {base: 32Mi}", "memory: [32Mi]", 24, "services.back.memory", "a list of 1",
			"a mapping"},
		{"two nodes of one name", "node: {count: 2, cores: 4, memory: 8Gi}",
			"node: {count: 2, cores: 4, memory: 8Gi}\n  node-2: {cores: 4, memory: 8Gi}", 7, "nodes.node-2", "node-2", "line 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(shop, tt.old) != 1 {
				t.Fatalf("%q is not there exactly once", tt.old)
			}
			_, err := Parse("shop.yaml", []byte(strings.Replace(shop, tt.old, tt.new, 1)))
			faults := faultsOf(err)
			if tt.line == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, f := range faults {
				if f.Line == tt.line && f.Field == tt.field && f.Value == tt.value && strings.Contains(f.Want, tt.want) &&
					f.File == "shop.yaml" {
					return
				}
			}
			t.Errorf("no fault at line %d, field %q, value %q, wanting %q; got:\n%v", tt.line, tt.field, tt.value, tt.want, err)
		})
	}
}

func TestFilesThatAreNoModelAtAll(t *testing.T) {
	deep := "version: 1\ncalls:\n  c0: a\n"
	for i := 1; i < 40; i++ { // 2^39 calls if anyone put them in
		deep += fmt.Sprintf("  c%d: {service: s%d, stages: [{use: c%d}, {use: c%d}]}\n", i, i, i-1, i-1)
	}
	var services strings.Builder
	front, _, _ := strings.Cut(shop[strings.Index(shop, "  front:"):], "  back:")
	for i := range 40 {
		services.WriteString(strings.Replace(front, "front", fmt.Sprintf("s%d", i), 1))
	}
	deep += "services:\n" + services.String() + strings.Replace(front, "front", "a", 1) +
		"nodes: {n: {count: 9, cores: 9, memory: 9Gi}}\nname: deep\nkinds:\n  k: {slo: {percentile: 9, latency: 1s}, call: {use: c39}}\n"
	tests := []struct{ name, data, message string }{
		{"an empty file", "", "it is empty"},
		{"only comments", "# nothing\n", "it is empty"},
		{"broken YAML", "a: [\nb", "must be YAML"},
		{"a list", "- a\n", "a mapping with the fields"},
		{"two documents", shop + "---\na: 1\n", "one YAML document"},
		{"no kinds", shop[:strings.Index(shop, "kinds:")] + "kinds: {}\n", "at least one"},
		{"no services", "version: 1\nname: x\nnodes: {n: {cores: 1, memory: 1Gi}}\nservices: {}\nkinds: {}\n", "services, at least one"},
		{"a tree beyond all measure", deep, "at most 20000 calls together"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("file.yaml", []byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v, want a fault that says %q", err, tt.message)
			}
		})
	}
}

func TestFaultsComeAllAtOnceInOrder(t *testing.T) {
	bad := strings.NewReplacer("version: 1", "version: 2", "mean: 2ms", "mean: none", "percentile: 99", "percentile: 0",
		"service: back", "service: bach").Replace(shop)
	_, err := Parse("shop.yaml", []byte(bad))
	faults := faultsOf(err)
	last := 0
	for _, f := range faults {
		if f.Line < last {
			t.Errorf("line %d comes after line %d", f.Line, last)
		}
		last = f.Line
	}
	if len(faults) != 6 {
		t.Errorf("%d faults, want 6:\n%v", len(faults), err)
	}
}

func TestUnknownNameNamesTheNearest(t *testing.T) {
	_, err := Load("trainticke")
	if err == nil || !strings.Contains(err.Error(), `did you mean "trainticket"?`) {
		t.Errorf("got %v", err)
	}
}
