package crd

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// Each row makes the complete example invalid, and names the expected error and its
// field. Rows with a list of lines want each of them.
var refusals = []struct{ name, change, want string }{
	{"a name too long for labels", `metadata.name: ` + strings.Repeat("a", 64), `metadata.name has 64 characters: use at most 63`},
	{"nothing is asked for", `spec: absent`, `spec: Required value`},

	// Objectives.
	{"no objective", `spec.objectives: []`, `spec.objectives: spec.objectives in body should have at least 1 items`},
	{"a percentile of 100", `spec.objectives[0].percentile: 100`,
		`spec.objectives[0].percentile: percentile 100 must be above 0 and below 100, such as 99 or "99.9"`},
	{"a percentile of 0", `spec.objectives[0].percentile: "0.0"`,
		`spec.objectives[0].percentile: percentile 0.0 must be above 0 and below 100`},
	{"a percentile without quotes", `spec.objectives[0].percentile: 99.9`,
		`spec.objectives[0].percentile in body must be of type integer,string: "number"`},
	{"no latency", `spec.objectives[0].latency: absent`, `spec.objectives[0].latency: Required value`},
	{"a latency of nothing", `spec.objectives[0].latency: 0s`, `spec.objectives[0].latency: must be longer than 0s and at most 1h`},
	{"one kind twice", `spec.objectives[1].kind: checkout`, `spec.objectives[1]: Duplicate value: {"kind":"checkout"}`},
	{"two for all kinds", `spec.objectives[0]: {latency: 1s}`, `spec.objectives[1]: Duplicate value: {"kind":"*"}`},
	{"an operation without a service", `spec.objectives[0].service: absent`,
		`spec.objectives[0]: operation without service: name the service`},
	{"a service for all kinds", `spec.objectives[1].service: web`, `spec.objectives[1]: service belongs to one kind of request`},

	// Prometheus.
	{"credentials without a server", `spec.prometheus.url: absent`,
		`spec.prometheus: without url the server of the class is used, with its credentials: give url, or leave bearerToken`},
	{"an address that is none", `spec.prometheus.url: prometheus:9090`,
		`spec.prometheus.url: must be an address such as http://prometheus.monitoring:9090`},
	{"a password in the address", `spec.prometheus.url: https://me:secret@prometheus`, `spec.prometheus.url: contains a name or password`},
	{"an unknown preset", `spec.prometheus.preset: itsio`,
		`spec.prometheus.preset: Unsupported value: "itsio": supported values: "istio", "linkerd"`},
	{"preset and queries", `spec.prometheus.queries: {name: mine, key: mine.yaml}`,
		`spec.prometheus: preset and queries are both given: keep one`},
	{"token and password", `spec.prometheus.basicAuth: {name: mine}`, `spec.prometheus: bearerToken and basicAuth are both given`},
	{"tls without tls", `spec.prometheus.url: http://prometheus`, `spec.prometheus: tls has no effect on an http:// url`},
	{"a variable with a hyphen", `spec.prometheus.variables: {not-ok: x}`,
		`spec.prometheus.variables: the name of a variable consists of lower-case letters`},
	{"scraped all the time", `spec.prometheus.scrapeInterval: 10ms`, `spec.prometheus.scrapeInterval: must be from 1s to 10m`},
	{"no time for a query", `spec.prometheus.timeout: 3m`, `spec.prometheus.timeout: must be from 1s to 2m`},
	{"two authorities", `spec.prometheus.tls.caSecret: {name: ca, key: ca.crt}`,
		`spec.prometheus.tls: caSecret and caConfigMap are both given`},
	{"an authority for nothing", `spec.prometheus.tls.insecureSkipVerify: true`,
		`spec.prometheus.tls: insecureSkipVerify accepts any certificate`},
	{"a header of nothing", `spec.prometheus.headers[0].value: absent`, `spec.prometheus.headers[0]: give either value or secret`},
	{"a header of two", `spec.prometheus.headers[1].value: x`, `spec.prometheus.headers[1]: give either value or secret`},
	{"a header with a colon", `spec.prometheus.headers[0].name: "X:"`,
		`spec.prometheus.headers[0].name: must consist of letters, digits and hyphens`},
	{"our own header", `spec.prometheus.headers[0].name: authorization`,
		`spec.prometheus.headers[0].name: is set by bearerToken and basicAuth: use those`},
	{"a header twice", `spec.prometheus.headers[1].name: X-Scope-OrgID`, `spec.prometheus.headers[1]: Duplicate value`},

	// What is done, and by whom.
	{"no hurry", `spec.interval: 11m`, `spec.interval: must be from 1s to 10m`},
	{"a drift of no time", `spec.drift.window: 5s`, `spec.drift.window: must be from 10s to 24h`},
	{"too much hurry", `spec.interval: 100ms`, `spec.interval: must be from 1s to 10m`},
	{"an unknown mode", `spec.mode: Dry`, `spec.mode: Unsupported value: "Dry": supported values: "Observe", "Recommend", "Act"`},
	{"respect for ever", `spec.respectManualChangesFor: 169h`,
		`spec.respectManualChangesFor: must be at most 168h; to leave the application alone for longer, pause it`},
	{"no policy", `spec.policy: {}`, `spec.policy: give either model, a policy from the registry, or baseline`},
	{"two decide", `spec.policy.baseline: hpa`,
		`spec.policy: model and baseline are both given: keep one; the rule that takes over is spec.fallback`},
	{"an unknown baseline", "spec.policy: {baseline: \"hpaa:target=60\"}",
		`spec.policy.baseline: no baseline is called hpaa: use static, hpa, keda, phpa, sre, kpa`},
	{"the oracle, which needs the future load", `spec.fallback: clairvoyant`,
		`spec.fallback: no baseline is called clairvoyant: use static`},
	{"settings without a key", `spec.fallback: "hpa:60"`, `spec.fallback: settings are written NAME:KEY=VALUE,KEY=VALUE`},
	{"settings of a policy", "spec.policy: {baseline: \"hpa:\"}", `spec.policy.baseline: settings are written NAME:KEY=VALUE`},
	{"a model from nowhere", `spec.policy.model.folder: absent`, `spec.policy.model: give exactly one of folder, configMap and claim`},
	{"a model from two places", `spec.policy.model.claim: {name: models}`,
		`spec.policy.model: give exactly one of folder, configMap and claim`},
	{"a version of one", `spec.policy.model: {configMap: {name: m}, version: 2}`, `spec.policy.model: a ConfigMap holds one model`},
	{"a model of yesterday", `spec.policy.model.maxAge: 5m`, `spec.policy.model.maxAge: must be at least 1h`},
	{"a version 0", `spec.policy.model.version: 0`, `spec.policy.model.version in body should be greater than or equal to 1`},
	{"any file of the controller", `spec.policy.model.folder: /etc`,
		`spec.policy.model.folder: must be a path below the controller's folder of models`},
	{"any file by a way round", `spec.policy.model: {claim: {name: m, path: a/../../b}}`,
		`spec.policy.model.claim.path: must be a path below`},
	{"any folder by a claim", `spec.policy.model: {claim: {name: ../etc}}`,
		`spec.policy.model.claim.name: must be the name of a PersistentVolumeClaim`},

	// Announced events.
	{"an event that ends before it begins", `spec.events[0].end: "2026-11-27T07:00:00Z"`,
		`spec.events[0]: end must be after start`},
	{"an event at any time", `spec.events[0].start: tomorrow`, `spec.events[0].start in body must be of type date-time`},
	{"an event of any size", `spec.events[0].factor: 1001`, `spec.events[0].factor: must be from 0.01 to 1000`},
	{"an event of no name", `spec.events[0].name: "a,b"`, `spec.events[0].name: must consist of letters, digits, hyphens`},
	{"an event twice", `spec.events[1]: {name: sale, start: "2026-11-28T08:00:00Z", end: "2026-11-28T09:00:00Z", factor: 2}`,
		`spec.events[1]: Duplicate value: {"name":"sale"}`},

	// Services.
	{"one service twice", `spec.services[1].name: web`, `spec.services[1]: Duplicate value: {"name":"web"}`},
	{"one workload twice", `spec.services[1].targetRef.name: web`, `spec: two services have the same targetRef`},
	{"a name with a meaning", `spec.services[1].name: "true"`, `spec.services[1].name: is a reserved value of the annotation`},
	{"a name with a comma", `spec.services[1].name: a,b`, `spec.services[1].name: must not have commas`},
	{"a target without scale", `spec.services[1].targetRef.kind: DaemonSet`,
		`spec.services[1].targetRef: a DaemonSet has no scale subresource: use a Deployment`},
	{"a version of nothing", `spec.services[1].targetRef.apiVersion: apps`,
		`spec.services[1].targetRef.apiVersion: must be a group and a version, such as apps/v1`},
	{"no bounds", `spec.services[0].bounds: absent`, `spec.services[0].bounds: Required value`},
	{"no upper bound", `spec.services[0].bounds.replicas.max: absent`, `spec.services[0].bounds.replicas.max: Required value`},
	{"replicas upside down", `spec.services[0].bounds.replicas: {min: 9, max: 8}`,
		`spec.services[0].bounds.replicas: bounds.replicas.min (9) is above max (8): swap them`},
	{"CPU upside down", `spec.services[0].bounds.cpu: {min: 1, max: 500m}`,
		`spec.services[0].bounds.cpu: bounds.cpu.min (1) is above max (500m): swap them`},
	{"no CPU", `spec.services[0].bounds.cpu: {min: 0, max: 1}`, `spec.services[0].bounds.cpu: bounds.cpu.min (0) must be at least 1m`},
	{"CPU that is none", `spec.services[0].bounds.cpu: {min: one, max: 2}`, `spec.services[0].bounds.cpu.min in body should match`},
	{"memory upside down", `spec.services[0].bounds.memory: {min: 2Gi, max: 900Mi}`,
		`spec.services[0].bounds.memory: bounds.memory.min (2Gi) is above max (900Mi): swap them`},
	{"memory without a unit", `spec.services[0].bounds.memory: {min: 64, max: 1024}`,
		`spec.services[0].bounds.memory: bounds.memory.min (64) must be at least 1Mi: is its unit missing?`},
	{"sizes without bounds", "spec.services[0].bounds: {replicas: {max: 9}}\nspec.services[0].floor: absent",
		`spec.services[0]: a vertical axis needs bounds.cpu or bounds.memory`},
	{"no axis", `spec.services[0].axes: []`, `spec.services[0].axes in body should have at least 1 items`},
	{"an unknown axis", `spec.services[0].axes: [Vertical]`, `spec.services[0].axes[0]: Unsupported value: "Vertical"`},
	{"an axis twice", `spec.services[0].axes: [Horizontal, Horizontal]`, `spec.services[0].axes[1]: Duplicate value`},
	{"optional and always there", `spec.services[1].bounds.replicas.min: 2`,
		`spec.services[1]: an optional service is switched off by scaling it to zero replicas: bounds.replicas.min must be 0, not 2`},
	{"optional and not moved", "spec.services[1].axes: [VerticalLimits]\nspec.services[1].bounds.cpu: {min: 1, max: 2}",
		`spec.services[1]: an optional service is switched off by scaling it to zero replicas: add Horizontal to axes`},
	{"brownout for nothing", `spec.services[1].optional.price: 0`,
		`spec.services[1].optional.price: must be above 0 and at most 1000: brownout is never free`},
	{"KEDA moves no sizes", "spec.services[0].movedBy: KEDA\nspec.services[0].axes: [VerticalLimits]",
		`spec.services[0]: KEDA scales replicas: add Horizontal to axes`},
	{"Knative Services of other sizes", "spec.services[0].movedBy: Knative\nspec.services[0].axes: [Horizontal, VerticalLimits]",
		`spec.services[0]: Knative makes the pods of a revision equal`},
	{"Knative Services are not switched off", "spec.services[1].movedBy: Knative\nspec.services[1].axes: [Horizontal]",
		`spec.services[1]: a Knative Service cannot be switched off`},
	{"Knative scales no Deployment", `spec.services[0].movedBy: Knative`, `spec.services[0]: movedBy Knative is for a Knative Service`},
	{"only the class scales a Knative Service", "spec.services[0].targetRef.apiVersion: serving.knative.dev/v1\nspec.services[0].targetRef.kind: Service",
		`spec.services[0]: movedBy Knative is for a Knative Service`},
	{"recreate for nothing", `spec.services[1].resize: InPlaceOrRecreate`, `spec.services[1]: InPlaceOrRecreate is about sizes`},
	{"nothing to scale", `spec.services: []`, `spec: services is empty and there is no selector`},
	{"a selector without bounds", `spec.selector: {matchLabels: {app: shop}}`, `spec: selector and template belong together`},
	{"no first service", "spec.services: absent\nspec.twin: absent\nspec.selector: {matchLabels: {app: shop}}\n" +
		"spec.template: {bounds: {replicas: {max: 3}}}",
		`spec: with a selector and without services no service is the first`},
	{"a label that is too long", "spec.selector: {matchLabels: {" + strings.Repeat("a", 318) + ": shop}}\nspec.template: {bounds: {replicas: {max: 3}}}",
		`spec.selector.matchLabels: the key of a label has at most 317 characters`},
	{"everything is selected", "spec.selector: {matchLabels: {}}\nspec.template: {bounds: {replicas: {max: 3}}}",
		`spec.selector.matchLabels in body should have at least 1 properties`},
	{"a template with bounds in the wrong order",
		"spec.selector: {matchLabels: {app: shop}}\nspec.template: {bounds: {replicas: {min: 4, max: 3}, cpu: {min: 2, max: 1}, " +
			"memory: {min: 2Gi, max: 1Gi}}}",
		"spec.template.bounds.replicas: bounds.replicas.min (4) is above max (3)\nspec.template.bounds.cpu: bounds.cpu.min (2) is above max " +
			"(1)\nspec.template.bounds.memory: bounds.memory.min (2Gi) is above max (1Gi)"},
	{"a template with bounds near zero",
		"spec.selector: {matchLabels: {app: shop}}\nspec.template: {bounds: {replicas: {max: 3}, cpu: {min: 100u, max: 1}, " +
			"memory: {min: 64, max: 1Gi}}}",
		"spec.template.bounds.cpu: bounds.cpu.min (100u) must be at least 1m\nspec.template.bounds.memory: bounds.memory.min (64) must be at " +
			"least 1Mi"},
	{"a template of nothing", "spec.selector: {matchLabels: {app: shop}}\nspec.template: {axes: [VerticalLimits], bounds: {replicas: {max: 3}}}",
		`spec.template: a vertical axis needs bounds.cpu or bounds.memory`},
	{"a template that recreates for nothing",
		"spec.selector: {matchLabels: {app: shop}}\nspec.template: {resize: InPlaceOrRecreate, bounds: {replicas: {max: 3}}}",
		`spec.template: InPlaceOrRecreate is about sizes`},
	{"a template with a floor above the roof",
		"spec.selector: {matchLabels: {app: shop}}\nspec.template: {floor: {replicas: 4}, bounds: {replicas: {max: 3}}}",
		`spec.template: floor.replicas (4) is above bounds.replicas.max (3)`},
	{"a topic of nobody", `spec.services[2].queue: {type: Kafka, name: mails}`, `spec.services[2].queue: consumerGroup is required for Kafka`},
	{"a group of SQS", `spec.services[2].queue: {type: SQS, name: mails, consumerGroup: g}`,
		`spec.services[2].queue: consumerGroup is required for Kafka`},
	{"a virtual host of Kafka", `spec.services[2].queue: {type: Kafka, name: mails, consumerGroup: g, virtualHost: eu}`,
		`spec.services[2].queue: virtualHost is RabbitMQ's: leave it out`},
	{"a queue that ends its text", `spec.services[2].queue: {type: SQS, name: 'a"b'}`, `spec.services[2].queue.name in body should match`},
	{"a queue of another kind", `spec.services[2].queue.type: NATS`, `spec.services[2].queue.type: Unsupported value: "NATS"`},
	{"a floor above the roof", `spec.services[0].floor.replicas: 41`,
		`spec.services[0]: floor.replicas (41) is above bounds.replicas.max (40)`},
	{"a schedule above the roof", `spec.services[0].schedule[0].replicas: 41`,
		`spec.services[0]: schedule: replicas are above bounds.replicas.max`},
	{"a schedule of sizes alone", `spec.services[0].axes: [VerticalLimits]`, `spec.services[0]: a schedule is about replicas: add Horizontal`},
	{"a start of four fields", `spec.services[0].schedule[0].start: 0 8 * *`,
		`spec.services[0].schedule[0].start: must have five fields: minute, hour`},
	{"an end of words", `spec.services[0].schedule[0].end: tonight`, `spec.services[0].schedule[0].end: must have five fields: minute, hour`},
	{"a schedule of nothing", `spec.services[0].schedule[0].replicas: 0`,
		`spec.services[0].schedule[0].replicas in body should be greater than or equal to 1`},
	{"CPU above the roof", `spec.services[0].floor.cpu: 2001m`, `spec.services[0]: floor.cpu (2001m) is above bounds.cpu.max (2)`},
	{"memory above the roof", `spec.services[0].floor.memory: 2Gi`,
		`spec.services[0]: floor.memory (2Gi) is above bounds.memory.max (1Gi)`},
	{"a floor of CPU without bounds", `spec.services[0].bounds.cpu: absent`, `spec.services[0]: floor.cpu needs bounds.cpu`},
	{"a floor of memory without bounds", `spec.services[0].bounds.memory: absent`, `spec.services[0]: floor.memory needs bounds.memory`},

	// The guard.
	{"a guard that stays", `spec.guard.without: [clamp]`,
		`spec.guard.without[0]: Unsupported value: "clamp": supported values: "disagreement"`},
	{"samples of any age", `spec.guard.data.maxAge: 0s`, `spec.guard.data.maxAge: must be longer than 0s and at most 24h`},
	{"hold for days", `spec.guard.data.holdFor: 25h`, `spec.guard.data.holdFor: must be at most 24h`},
	{"recovery for days", `spec.guard.data.recovery: 25h`, `spec.guard.data.recovery: must be at most 24h`},
	{"the floor at once", `spec.guard.data.floorAfter: 0s`, `spec.guard.data.floorAfter: must be longer than 0s and at most 24h`},
	{"the floor before the hold", `spec.guard.data.floorAfter: 30s`, `spec.guard.data: floorAfter (30s) must be longer than holdFor (1m)`},
	{"no failure is too many", `spec.guard.faults.most: 0`, `spec.guard.faults.most in body should be greater than or equal to 1`},
	{"never forgiven", `spec.guard.faults.recovery: 169h`, `spec.guard.faults.recovery: must be at most 168h`},
	{"nothing burns", `spec.guard.burn.windows: []`, `spec.guard.burn.windows in body should have at least 1 items`},
	{"windows in the wrong order", `spec.guard.burn.windows[0].long: 30s`,
		`spec.guard.burn.windows[0]: short (1m) and long (30s) must be in this order, from 10s to 24h`},
	{"a rate below the budget", `spec.guard.burn.windows[0].rate: "0.5"`, `spec.guard.burn.windows[0].rate: must be from 1 to 10000`},
	{"recovered while it burns", `spec.guard.burn.recovered: 4`, `spec.guard.burn: the rate of a window must not be below recovered`},
	{"recovered at anything", `spec.guard.burn.recovered: 10001`, `spec.guard.burn.recovered: must be from 0 to 10000`},
	{"more requests than there are", `spec.guard.burn.minOver: "1000000001"`, `spec.guard.burn.minOver: must be from 0 to 1000000000`},
	{"recovered at once", `spec.guard.burn.recovery: 0s`, `spec.guard.burn.recovery: must be longer than 0s and at most 168h`},
	{"the longest is the shorter", `spec.guard.burn.longestRecovery: 5m`,
		`spec.guard.burn: longestRecovery (5m) must not be shorter than recovery (10m)`},
	{"recovery for months", `spec.guard.burn.longestRecovery: 721h`, `spec.guard.burn.longestRecovery: must be at most 720h`},
	{"a window of an instant", `spec.guard.burn.scaleInWindow: 1s`, `spec.guard.burn.scaleInWindow: must be from 10s to 24h`},
	{"reduced in any fire", `spec.guard.burn.scaleInRate: 10001`, `spec.guard.burn.scaleInRate: must be from 0 to 10000`},
	{"no step", `spec.guard.step.upPods: 0`, `spec.guard.step.upPods in body should be greater than or equal to 1`},
	{"a step beyond measure", `spec.guard.step.upPercent: 1000001`, `spec.guard.step.upPercent: must be from 0 to 1000000`},
	{"more than all", `spec.guard.step.downPercent: 101`, `spec.guard.step.downPercent: must be from 0 to 100`},
	{"larger by nothing", `spec.guard.step.sizeUp: 1`, `spec.guard.step.sizeUp: must be from 1.01 to 1000`},
	{"smaller by nothing", `spec.guard.step.sizeDown: 1`, `spec.guard.step.sizeDown: must be from 0.001 to 0.99`},
	{"cool for days", `spec.guard.coolDown: {up: 25h, down: 25h}`,
		"spec.guard.coolDown.up: must be at most 24h\nspec.guard.coolDown.down: must be at most 24h"},
	{"no window", `spec.guard.observed.window: 0s`, `spec.guard.observed.window: must be longer than 0s and at most 24h`},
	{"shares beyond all", `spec.guard.observed: {ofLimit: 2, ofRequest: 101, ofWorkers: 0, ofMemory: 2}`,
		"spec.guard.observed.ofLimit: must be from 0.01 to 1\nspec.guard.observed.ofRequest: must be from 0.01 to " +
			"100\nspec.guard.observed.ofWorkers: must be from 0.01 to 1\nspec.guard.observed.ofMemory: must be from 0.01 to 1"},
	{"patience of days", `spec.guard.starting: {patience: 25h, settle: 25h}`,
		"spec.guard.starting.patience: must be at most 24h\nspec.guard.starting.settle: must be at most 24h"},
	{"never lower", `spec.guard.disagreement: {low: 2, high: "0.5"}`,
		"spec.guard.disagreement.low: must be from 0 to 1\nspec.guard.disagreement.high: must be from 1 to 1000000"},
	{"brownout beyond all", `spec.guard.brownout: {window: 1s, rate: "0.5", recovery: 0s}`,
		"spec.guard.brownout.window: must be from 10s to 24h\nspec.guard.brownout.rate: must be from 1 to " +
			"10000\nspec.guard.brownout.recovery: must be longer than 0s and at most 168h"},
	{"gray beyond all", `spec.guard.gray: {part: 2, span: 0s, retreat: 169h}`,
		"spec.guard.gray.part: must be from 0.01 to 1\nspec.guard.gray.span: must be longer than 0s and at most " +
			"24h\nspec.guard.gray.retreat: must be at most 168h"},

	{"a field that does not exist", `spec.services[0].bound: {}`, `unknown field spec.services[0].bound`},
}

func TestRefusals(t *testing.T) {
	s := newServer(t)
	reported := map[string]bool{}
	for _, row := range refusals {
		t.Run(row.name, func(t *testing.T) {
			object := everything(t)
			edit(t, object, row.change)
			errors := s.take(object)
			for _, want := range strings.Split(row.want, "\n") {
				if !slices.ContainsFunc(errors, func(text string) bool { return strings.Contains(plain(text), want) }) {
					t.Errorf("missing error: %s\nerrors: %s", want, strings.Join(errors, "\n      "))
				}
			}
			for _, text := range errors {
				if !strings.Contains(row.want, "should match") && strings.Contains(text, "evaluating rule") {
					t.Errorf("a rule fails instead of answering: %s", text)
				}
				reported[anyIndex.ReplaceAllString(plain(text), "[]")] = true
			}
		})
	}
	// No rule without a row.
	walk(s.structural, "", func(path string, at *structuralschema.Structural) {
		for _, rule := range at.XValidations {
			message := beginning(rule.Message, rule.MessageExpression)
			if strings.Contains(path, "status") || isFormat(message) || !strings.HasPrefix(path, "spec") && path != "" {
				continue
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(reported)), func(text string) bool {
				at, said, _ := strings.Cut(text, ": ")
				return path == "" && strings.Contains(text, message) || at == path && strings.Contains(said, message)
			}) {
				t.Errorf("no row breaks the rule of %s: %s", path, rule.Rule)
			}
		}
	})
}

// How a number or a time span is written is a rule of its type: it is tried at
// every field that has one.
func TestFiguresThatAreNone(t *testing.T) {
	s := newServer(t)
	fields := 0
	walk(s.structural, "", func(path string, at *structuralschema.Structural) {
		if !strings.HasPrefix(path, "spec.") {
			return
		}
		for _, rule := range at.XValidations {
			if !isFormat(rule.Message) {
				continue
			}
			fields++
			object := everything(t)
			edit(t, object, strings.ReplaceAll(path, "[]", "[0]")+`: "5 x"`)
			if strings.Contains(path, "optional") {
				object = everything(t)
				edit(t, object, strings.ReplaceAll(path, "[]", "[1]")+`: "5 x"`)
			}
			errors := s.take(object)
			if !slices.ContainsFunc(errors, func(text string) bool { return strings.Contains(text, rule.Message) }) {
				t.Errorf("%s takes %q: %v", path, "5 x", errors)
			}
		}
	})
	if fields < 40 {
		t.Errorf("only %d fields were tried", fields)
	}
}

func isFormat(message string) bool {
	return strings.HasPrefix(message, "must be a duration with its unit") || strings.HasPrefix(message,
		"must be a non-negative number, in quotes")
}

var (
	anyIndex = regexp.MustCompile(`\[\d+\]`)
	value    = regexp.MustCompile(`: Invalid value: (?:"(?:[^"\\]|\\.)*": |-?[0-9.]+: )?`)
)

// plain is a message without the value in it.
func plain(text string) string { return value.ReplaceAllString(text, ": ") }

// beginning is as much of a rule's message as does not depend on the object.
func beginning(message, expression string) string {
	if expression == "" {
		return message
	}
	parts := strings.Split(expression, "'")
	fixed := parts[1]
	if i := strings.Index(fixed, "%d"); i >= 0 {
		fixed = fixed[:i]
	}
	return strings.TrimSpace(fixed)
}

// walk visits every field of a schema.
func walk(s *structuralschema.Structural, path string, visit func(string, *structuralschema.Structural)) {
	visit(path, s)
	for name, p := range s.Properties {
		walk(&p, strings.TrimPrefix(path+"."+name, "."), visit)
	}
	if s.Items != nil {
		walk(s.Items, path+"[]", visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		walk(s.AdditionalProperties.Structural, path+"{}", visit)
	}
}
