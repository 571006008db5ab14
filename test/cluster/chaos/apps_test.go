package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sim"
	"github.com/loadline/loadline/test/cluster"
)

// application of a run.
type application struct {
	role   string // what it is there for
	ns     string
	app    *loadline.App
	share  float64 // of the plan's load
	player *cluster.Player
	spec   string // of its LoadLine, in which @prometheus is filled in
}

// The guards have short windows, as in the scenarios: the same guards meet more faults in less
// time.
const (
	maxAge   = 10 * time.Second
	window   = 10 * time.Second
	settle   = time.Second
	interval = 2 * time.Second
	hpa      = "hpa:target=60,period=2s,down-window=12s,init-period=1s"
	planner  = "planner:period=4s"
)

const guards = `  guard:
    data: {maxAge: 10s, holdFor: 5s, recovery: 5s, floorAfter: 30s}
    burn: {windows: [{short: 10s, long: 20s, rate: 20}], recovery: 20s, longestRecovery: 1m, scaleInWindow: 10s}
    coolDown: {up: 0s, down: 6s}
    observed: {window: 10s}
    starting: {patience: 20s, settle: 1s}
    gray: {part: "0.5", span: 4s, retreat: 20s}
    brownout: {window: 10s, rate: 5, recovery: 12s}
`

// head of every LoadLine. Edits replace parts of it.
const head = `apiVersion: loadline.dev/v1alpha1
kind: LoadLine
metadata: {name: shop}
spec:
  mode: Act
  prometheus: {url: "@prometheus", timeout: 2s}
  interval: 2s
`

const objective = "  objectives: [{kind: request, latency: 250ms, service: server}]\n"

// twoServices is a LoadLine of shop with a policy.
func twoServices(policy string) string {
	return head + objective + fmt.Sprintf("  policy: {baseline: %q}\n  fallback: %q\n", policy, hpa) + `  services:
  - {name: server, targetRef: {name: server}, floor: {replicas: 4}, bounds: {replicas: {min: 1, max: 12}}}
  - {name: ads, targetRef: {name: ads}, optional: {price: "0.1"}, bounds: {replicas: {min: 0, max: 5}}}
` + guards
}

// oneService is a LoadLine of the application single.
func oneService(further string) string {
	return head + objective + fmt.Sprintf("  policy: {baseline: %q}\n  fallback: %q\n", hpa, hpa) + `  services: [{name: server, targetRef: {name: server}, ` + further + `bounds: {replicas: {min: 1, max: 12}}}]
` + guards
}

// edits of the two LoadLines that are compared, by Fault.Arg: each is undone at the end of the
// fault.
var edits = []struct{ old, new string }{
	{"min: 1, max: 12", "min: 1, max: 6"},
	{"min: 1, max: 12", "min: 3, max: 12"},
	{"mode: Act", "mode: Recommend"},
	{"optional: {price: \"0.1\"}, ", ""},
}

// follower lets KEDA scale the service of the application that it moves.
const follower = `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: server}
spec:
  scaleTargetRef: {name: server}
  pollingInterval: 2
  cooldownPeriod: 10
  minReplicaCount: 1
  maxReplicaCount: 12
  fallback: {failureThreshold: 3, replicas: 4, behavior: currentReplicasIfHigher}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        scaleUp: {tolerance: 0, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 15}]}
        scaleDown: {tolerance: 0, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 1000, periodSeconds: 15}]}
  triggers:
    - type: external
      metadata: {scalerAddress: %q, loadline: shop, service: server}
`

// shop is a service that calls an optional one.
func shop(t testing.TB) *loadline.App {
	t.Helper()
	return parse(t, `
version: 1
name: shop
nodes: {node: {count: 3, cores: 8, memory: 16Gi}}
services:
  server:
    cpu: {mean: 10ms, shape: exponential}
    workers: 10000
    memory: {base: 32Mi}
    startup: {mean: 1s}
    replicas: 4
    size: {cpu: {request: 1, limit: 1}, memory: {request: 256Mi, limit: 512Mi}}
    bounds: {replicas: [1, 12], cpu: [100m, 4], memory: [64Mi, 2Gi]}
  ads:
    cpu: {mean: 2ms, shape: exponential}
    workers: 10000
    memory: {base: 32Mi}
    startup: {mean: 1s}
    replicas: 2
    size: {cpu: {request: 500m, limit: 500m}, memory: {request: 256Mi, limit: 512Mi}}
    bounds: {replicas: [0, 5], cpu: [100m, 4], memory: [64Mi, 2Gi]}
kinds:
  request:
    slo: {percentile: 99, latency: 250ms}
    timeout: 2s
    call: {service: server, stages: [{service: ads, optional: true}]}
`)
}

func parse(t testing.TB, text string) *loadline.App {
	t.Helper()
	m, err := apps.Parse("chaos.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m.App
}

// single is the smallest application.
func single(t testing.TB) *loadline.App {
	t.Helper()
	m, err := apps.Load("single")
	if err != nil {
		t.Fatal(err)
	}
	m.App.Services[0].Replicas = 2
	return m.App
}

// scaled is a share of a load.
type scaled struct {
	of    sim.Arrivals
	share float64
}

// Rate fits sim.Arrivals.
func (s scaled) Rate(kind int, t time.Duration) (float64, time.Duration) {
	rate, until := s.of.Rate(kind, t)
	return rate * s.share, until
}

// loadLine is the manifest of an application's LoadLine, with edits.
func (a *application) loadLine(prometheus string, edits ...string) string {
	return strings.NewReplacer(append([]string{"@prometheus", prometheus}, edits...)...).Replace(a.spec)
}
