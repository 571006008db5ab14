package doctor

import (
	"cmp"
	"context"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/metrics/prom"
)

// Defaults of the installation.
const (
	DefaultNamespace      = "loadline-system"
	DefaultServiceAccount = "loadline"
	DefaultScalerHost     = "loadline-keda." + DefaultNamespace
)

// Discovery lists the resources of an API server.
type Discovery interface {
	ServerVersion() (*version.Info, error)
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Access answers permission questions.
type Access interface {
	// Allowed checks a user with these groups; the current user if it is empty.
	Allowed(ctx context.Context, user string, groups []string, what authorizationv1.ResourceAttributes) (bool, error)
}

// Cluster is the access to one cluster.
type Cluster struct {
	Server    string        // address, for the report
	Reader    client.Reader // has the types of client-go and of v1alpha1
	Discovery Discovery
	Access    Access // safe for concurrent use
}

// Options select what to check.
type Options struct {
	Now            time.Time
	Namespace      string // of the installation; empty = DefaultNamespace
	ServiceAccount string // of the controller; empty = DefaultServiceAccount
	ScalerHost     string // where KEDA reaches the controller; empty = DefaultScalerHost

	LoadLines []types.NamespacedName // none = all of the cluster
	// Metrics is a namespace whose metrics are checked without a LoadLine.
	Metrics string

	InCluster  bool                                // addresses within the cluster are reachable
	Prometheus *prom.Client                        // instead of those of LoadLines; may be nil
	Connect    func(Address) (*prom.Client, error) // connects to a LoadLine's Prometheus; nil = none is reachable
	Progress   func(share float64, about string)   // may be nil
}

// Examine runs all checks. An unreachable cluster is a report with one fault; the error means
// that the examination was interrupted.
func Examine(ctx context.Context, c Cluster, o Options) (*Report, error) {
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	if o.ServiceAccount == "" {
		o.ServiceAccount = DefaultServiceAccount
	}
	if o.ScalerHost == "" {
		o.ScalerHost = DefaultScalerHost
	}
	e := newExam(c, o)
	if !e.server() {
		return e.report, ctx.Err()
	}
	steps := []struct {
		about string
		check func(context.Context)
	}{
		{"what there is", e.survey},
		{"resize", e.resize},
		{"nodes", e.nodes},
		{"axes", e.axes},
		{"tolerance", e.tolerance},
		{"resource metrics", e.resourceMetrics},
		{"KEDA", e.keda},
		{"definition", e.definition},
		{"installation", e.installation},
		{"reserves", e.reserves},
		{"admission policy", e.admission},
		{"permissions", e.permissions},
		{"metrics", e.metricsWithoutLoadLine},
	}
	total := len(steps) + 1
	for i, s := range steps {
		e.at(float64(i)/float64(total), s.about)
		s.check(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for i := range e.lines {
		done := float64(len(steps)) + float64(i)/float64(len(e.lines))
		e.at(done/float64(total), key(&e.lines[i]))
		e.application(ctx, &e.lines[i])
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(e.report.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(areas, a.Area),
			slices.Index(areas, b.Area))
	})
	return e.report, nil
}

func key(l *v1alpha1.LoadLine) string { return l.Namespace + "/" + l.Name }
