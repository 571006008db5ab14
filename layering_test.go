package loadline_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/loadline/loadline"

// layers is the architecture: which room may import which. A room that is not
// here may not exist; what is not listed may not be imported. The vocabulary
// (this package) is open to all. Outside modules are named by their path.
//
// Arrows point down: nothing imports a line below its own.
var layers = []struct {
	room    string
	imports []string
}{
	{".", nil},
	{"internal/nearest", nil},
	{"internal/wholefile", nil},
	{"internal/image", nil},
	{"internal/draw", nil},

	// Networks know nothing of clusters.
	{"internal/nn/gemm", []string{"golang.org/x/sys/cpu"}},
	{"internal/nn", []string{"internal/nn/gemm"}},
	{"internal/rl", []string{"internal/nn"}},
	{"internal/rl/dqn", []string{"internal/nn", "internal/rl"}},
	{"internal/rl/td3", []string{"internal/nn", "internal/rl"}},
	{"internal/rl/clone", []string{"internal/nn", "internal/rl"}},
	{"internal/rl/tabular", []string{"internal/rl"}},
	{"internal/rl/lessons", []string{"internal/rl"}},
	{"internal/rl/study", []string{"internal/nearest", "internal/rl", "internal/rl/dqn", "internal/rl/td3", "internal/rl/tabular"}},

	{"internal/modelfile", []string{"internal/nn", "internal/wholefile"}},
	{"internal/forecast", []string{"internal/nearest", "internal/nn", "internal/modelfile", "gonum.org/v1/gonum/optimize"}},

	{"internal/apps", []string{"internal/nearest", "go.yaml.in/yaml/v3"}},
	{"internal/workload", []string{"internal/nearest", "internal/apps"}},

	{"internal/sim", nil},
	{"internal/sim/event", []string{"internal/sim"}},
	{"internal/sim/fluid/surface", []string{"internal/sim", "internal/sim/event"}},
	{"internal/sim/fluid/surface/gen", []string{"internal/sim", "internal/sim/event", "internal/sim/fluid/surface", "internal/wholefile"}},
	{"internal/sim/fluid", []string{"internal/sim", "internal/sim/fluid/surface"}},

	// What is known of the past, and the application that is fitted to it.
	{"internal/history", []string{"internal/nearest", "internal/wholefile", "github.com/parquet-go/parquet-go"}},
	{"internal/twin", []string{"internal/nearest", "internal/history", "internal/apps", "internal/workload", "internal/sim", "internal/sim/event", "internal/sim/fluid"}},
	{"internal/intake", []string{"internal/nearest", "internal/workload", "internal/sim", "internal/history"}},

	{"internal/engines", []string{"internal/sim", "internal/sim/event", "internal/sim/fluid"}},
	{"internal/validate", []string{"internal/sim", "internal/sim/event"}},

	// What was decided and why.
	{"internal/decisionlog", []string{"internal/nearest", "internal/wholefile"}},
	{"internal/decisionlog/tell", []string{"internal/decisionlog"}},
	{"internal/decisionlog/replay", []string{"internal/decisionlog"}},
	{"internal/decisionlog/expect", []string{"internal/decisionlog", "internal/sim", "internal/sim/fluid"}},

	// Where clusters meet agents.
	{"internal/env", []string{"internal/nearest", "internal/nn", "internal/rl", "internal/modelfile"}},

	// The users' SLO, divided among services.
	{"internal/profile", []string{"internal/nearest", "internal/sim", "internal/sim/event", "internal/env"}},
	{"internal/profile/past", []string{"internal/history", "internal/profile"}},
	{"internal/slosplit", []string{"internal/nearest", "internal/sim", "internal/sim/event", "internal/env", "internal/profile"}},
	{"internal/slosplit/learned", []string{"internal/nearest", "internal/nn", "internal/modelfile", "internal/apps", "internal/profile", "internal/slosplit"}},

	// A teacher and its students: what they share and do, and where they practise.
	{"internal/arena", []string{"internal/forecast", "internal/sim", "internal/sim/fluid", "internal/env"}},
	{"internal/drpc", []string{"internal/nn", "internal/rl", "internal/rl/clone", "internal/modelfile", "internal/forecast", "internal/env"}},
	{"internal/drpc/teacher", []string{"internal/nn", "internal/rl", "internal/rl/td3", "internal/drpc"}},
	{"internal/drpc/school", []string{"internal/nn", "internal/rl", "internal/modelfile", "internal/forecast", "internal/sim", "internal/arena", "internal/env", "internal/drpc", "internal/drpc/teacher"}},

	// DRPC's rivals that learn: at work, and where they practise.
	{"internal/rivals", []string{"internal/nn", "internal/rl", "internal/modelfile", "internal/forecast", "internal/env"}},
	{"internal/rivals/practice", []string{"internal/nn", "internal/rl", "internal/rl/tabular", "internal/rl/td3", "internal/modelfile", "internal/forecast", "internal/sim", "internal/env", "internal/arena", "internal/drpc", "internal/rivals"}},

	// The split at work: what steers by it, and where that is learned.
	{"internal/msars", []string{"internal/nearest", "internal/nn", "internal/modelfile", "internal/forecast", "internal/env", "internal/profile", "internal/slosplit", "internal/slosplit/learned", "internal/drpc"}},
	{"internal/msars/school", []string{"internal/rl", "internal/modelfile", "internal/forecast", "internal/sim", "internal/arena", "internal/profile", "internal/slosplit", "internal/slosplit/learned", "internal/drpc", "internal/drpc/teacher", "internal/msars"}},

	{"internal/loop", nil},
	{"internal/guard", []string{"internal/nearest", "internal/loop"}},
	{"internal/policies", []string{"internal/nearest", "internal/env", "internal/drpc", "internal/rivals", "internal/msars"}},
	{"internal/gym", []string{"internal/rl", "internal/history", "internal/env", "internal/sim", "internal/sim/fluid", "internal/guard", "internal/loop"}},
	{"internal/result", []string{"internal/sim"}},
	{"internal/simulate", []string{
		"internal/nearest", "internal/sim", "internal/sim/event", "internal/sim/fluid",
		"internal/guard", "internal/loop", "internal/policies", "internal/result",
	}},

	// What a simulated cluster showed, kept as a history or as metrics.
	{"internal/record", []string{"internal/history", "internal/sim", "internal/simulate"}},
	{"internal/exposition", []string{"internal/sim"}},

	// What a platform engineer writes, and what is made of it.
	{"api/v1alpha1", []string{"k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/runtime/schema", "k8s.io/apimachinery/pkg/util/intstr"}},
	{"internal/resource", []string{"internal/nearest", "internal/loop", "internal/guard", "internal/policies", "api/v1alpha1", "k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1"}},

	// Whoever can be trained, with equal steps and trials.
	{"internal/learners", []string{"internal/nearest", "internal/wholefile", "internal/workload", "internal/arena", "internal/profile", "internal/msars/school", "internal/drpc", "internal/drpc/school", "internal/rivals", "internal/rivals/practice", "internal/result"}},

	{"internal/calibrate", []string{"internal/apps", "internal/nearest", "internal/workload", "internal/sim", "internal/policies", "internal/result", "internal/simulate"}},
	{"internal/bench", []string{
		"internal/nearest", "internal/wholefile", "internal/learners", "internal/calibrate", "internal/apps", "internal/workload", "internal/sim", "internal/policies", "internal/result", "internal/simulate", "gonum.org/v1/gonum/stat/distuv",
	}},
	{"internal/report", []string{"internal/bench", "internal/result"}},

	// From the past to a policy that is proven on it.
	{"internal/registry", []string{"internal/nearest", "internal/wholefile", "internal/env", "internal/drpc", "internal/msars", "internal/modelfile"}},
	{"internal/pipeline", []string{
		"internal/nearest", "internal/wholefile", "internal/modelfile", "internal/rl", "internal/rl/dqn", "internal/history", "internal/apps", "internal/workload", "internal/sim", "internal/env", "internal/gym",
		"internal/twin", "internal/record", "internal/policies", "internal/simulate", "internal/calibrate", "internal/bench", "internal/result",
	}},
	{"internal/papers", []string{
		"internal/nearest", "internal/rl", "internal/rl/dqn", "internal/rl/study", "internal/history", "internal/apps", "internal/workload", "internal/sim", "internal/env", "internal/gym", "internal/profile", "internal/slosplit", "internal/slosplit/learned", "internal/msars", "internal/msars/school",
		"internal/twin", "internal/record", "internal/policies", "internal/simulate", "internal/learners", "internal/forecast", "internal/calibrate", "internal/bench", "internal/result", "internal/pipeline",
	}},

	// The edges, one technology each.
	{"internal/prom", []string{"internal/nearest", "internal/wholefile", "internal/history", "go.yaml.in/yaml/v3", "github.com/prometheus/client_golang/api", "github.com/prometheus/client_golang/api/prometheus/v1", "github.com/prometheus/common/config", "github.com/prometheus/common/model"}},
	{"internal/live", []string{"internal/nearest", "internal/history", "internal/prom", "github.com/prometheus/common/model"}},
	{"internal/fleet", []string{"internal/nearest", "internal/wholefile", "internal/nn", "internal/drpc", "github.com/nats-io/nats-server/v2/server", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"}},
	{"internal/fleet/class", []string{"internal/wholefile", "internal/rl", "internal/drpc", "internal/drpc/school", "internal/fleet"}},
	{"internal/kube", []string{
		"api/v1alpha1", "k8s.io/api/apps/v1", "k8s.io/api/autoscaling/v2", "k8s.io/api/core/v1", "k8s.io/api/policy/v1", "k8s.io/apimachinery/pkg/api/errors", "k8s.io/apimachinery/pkg/api/meta", "k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured", "k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/runtime/schema", "k8s.io/apimachinery/pkg/selection", "k8s.io/apimachinery/pkg/types", "k8s.io/apimachinery/pkg/util/resourceversion", "sigs.k8s.io/controller-runtime/pkg/client",
	}},
	{"internal/kedascaler/externalscaler", []string{"google.golang.org/grpc", "google.golang.org/grpc/codes", "google.golang.org/grpc/status", "google.golang.org/protobuf/reflect/protoreflect", "google.golang.org/protobuf/runtime/protoimpl"}},
	{"internal/kedascaler", []string{
		"internal/nearest", "internal/kedascaler/externalscaler", "google.golang.org/grpc", "google.golang.org/grpc/codes", "google.golang.org/grpc/credentials", "google.golang.org/grpc/health", "google.golang.org/grpc/health/grpc_health_v1", "google.golang.org/grpc/keepalive", "google.golang.org/grpc/status",
	}},

	// How it is packed.
	{"tools/image", []string{"internal/image", "internal/wholefile"}},

	// Loadline at work in a cluster.
	{"internal/controller", []string{
		"internal/apps", "internal/modelfile", "internal/env", "internal/workload", "internal/wholefile", "internal/drpc", "internal/drpc/school", "internal/msars", "internal/fleet", "internal/fleet/class", "internal/decisionlog", "internal/decisionlog/expect", "internal/decisionlog/tell", "internal/loop", "internal/guard", "internal/policies", "internal/registry", "api/v1alpha1", "internal/resource", "internal/prom", "internal/live", "internal/kube", "internal/kedascaler",
		"github.com/prometheus/client_golang/prometheus", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/api/equality", "k8s.io/apimachinery/pkg/api/errors", "k8s.io/apimachinery/pkg/api/meta", "k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/types",
		"k8s.io/client-go/tools/cache", "k8s.io/client-go/tools/events", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/controller-runtime/pkg/builder", "sigs.k8s.io/controller-runtime/pkg/cache", "sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/controller-runtime/pkg/controller", "sigs.k8s.io/controller-runtime/pkg/event", "sigs.k8s.io/controller-runtime/pkg/handler", "sigs.k8s.io/controller-runtime/pkg/predicate", "sigs.k8s.io/controller-runtime/pkg/reconcile",
	}},

	// What a cluster lacks.
	{"deploy", nil},
	{"internal/doctor", []string{
		"internal/nearest", "internal/history", "api/v1alpha1", "internal/resource", "internal/prom", "internal/kube", "deploy",
		"github.com/prometheus/common/model", "k8s.io/api/admissionregistration/v1", "k8s.io/api/apps/v1", "k8s.io/api/authorization/v1", "k8s.io/api/coordination/v1", "k8s.io/api/core/v1", "k8s.io/api/policy/v1", "k8s.io/api/rbac/v1", "k8s.io/apimachinery/pkg/api/errors", "k8s.io/apimachinery/pkg/api/meta", "k8s.io/apimachinery/pkg/api/resource", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured", "k8s.io/apimachinery/pkg/labels", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/runtime/schema", "k8s.io/apimachinery/pkg/types", "k8s.io/apimachinery/pkg/util/yaml", "k8s.io/apimachinery/pkg/version", "sigs.k8s.io/controller-runtime/pkg/client",
	}},

	// Only the command joins everything.
	{"cmd/loadline", []string{
		"github.com/prometheus/common/model", "internal/doctor", "k8s.io/apimachinery/pkg/types", "k8s.io/client-go/discovery",
		"api/v1alpha1", "internal/controller", "internal/kube", "internal/kedascaler", "github.com/go-logr/logr", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/runtime", "k8s.io/client-go/kubernetes/scheme", "k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd", "k8s.io/klog/v2",
		"sigs.k8s.io/controller-runtime", "sigs.k8s.io/controller-runtime/pkg/cache", "sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/controller-runtime/pkg/healthz", "sigs.k8s.io/controller-runtime/pkg/metrics", "sigs.k8s.io/controller-runtime/pkg/metrics/server",
		"internal/nearest", "internal/wholefile", "internal/draw", "internal/nn", "internal/modelfile", "internal/forecast", "internal/apps", "internal/workload", "internal/sim", "internal/engines", "internal/validate", "internal/simulate", "internal/bench", "internal/calibrate", "internal/report",
		"internal/rl", "internal/rl/lessons", "internal/rl/study", "internal/policies", "internal/result", "internal/history", "internal/twin", "internal/prom", "internal/record", "internal/exposition", "internal/intake", "internal/env", "internal/profile", "internal/profile/past", "internal/slosplit", "internal/slosplit/learned", "internal/learners", "internal/arena", "internal/drpc", "internal/drpc/school", "internal/fleet", "internal/fleet/class", "internal/rivals", "internal/rivals/practice", "internal/msars", "internal/msars/school", "internal/gym", "internal/pipeline", "internal/registry", "internal/papers", "internal/decisionlog", "internal/decisionlog/tell", "internal/decisionlog/replay", "internal/decisionlog/expect", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/sys/unix", "golang.org/x/term",
	}},
}

func TestLayering(t *testing.T) {
	for room, files := range rooms(t) {
		i := slices.IndexFunc(layers, func(l struct {
			room    string
			imports []string
		}) bool {
			return l.room == room
		})
		if i < 0 {
			t.Errorf("room %s is not in the table", room)
			continue
		}
		for _, file := range files {
			for _, imported := range foreignImports(t, file) {
				if imported != "." && !slices.Contains(layers[i].imports, imported) {
					t.Errorf("%s imports %s, which %s may not", file, imported, room)
				}
			}
		}
	}
}

func TestLayeringTableOnlyPointsDown(t *testing.T) {
	place := map[string]int{}
	for i, l := range layers {
		place[l.room] = i
	}
	for i, l := range layers {
		for _, imported := range l.imports {
			if j, ours := place[imported]; ours && j >= i {
				t.Errorf("%s stands above %s and imports it", l.room, imported)
			}
		}
	}
}

// rooms are all folders with Go files that are not tests.
func rooms(t *testing.T) map[string][]string {
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && d.IsDir() && name != "." {
			return filepath.SkipDir // a module of its own
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			name = filepath.ToSlash(name)
			found[path.Dir(name)] = append(found[path.Dir(name)], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// foreignImports of a file: ours by their folder, others by their path, the
// standard library not at all.
func foreignImports(t *testing.T, file string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var imports []string
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(name, "/")
		switch {
		case name == module:
			imports = append(imports, ".")
		case strings.HasPrefix(name, module+"/"):
			imports = append(imports, strings.TrimPrefix(name, module+"/"))
		case strings.Contains(first, "."):
			imports = append(imports, name)
		}
	}
	return imports
}
