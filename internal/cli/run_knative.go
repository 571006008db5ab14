package cli

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/loadline/loadline/internal/controller"
	"github.com/loadline/loadline/internal/kedascaler"
	"github.com/loadline/loadline/internal/knative"
)

// knativeFlags are those of run for the autoscaler class of Knative Services.
type knativeFlags struct {
	enabled   bool
	namespace string
}

func (f *knativeFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.enabled, "knative", false, "scale the Knative Services with the annotation "+knative.ClassAnnotation+": "+knative.Class+
		" (docs/knative.md)")
	flags.StringVar(&f.namespace, "knative-namespace", "knative-serving", "namespace of Knative Serving")
}

// check reports what is wrong; others are the flags that do not go with it.
func (f *knativeFlags) check(dryRun, once bool) (faults []error) {
	if !f.enabled {
		return nil
	}
	if dryRun || once {
		faults = append(faults, Usagef("--knative excludes --dry-run and --once: Knative Services are scaled at all times or not at all"))
	}
	if errs := validation.IsDNS1123Label(f.namespace); len(errs) > 0 {
		faults = append(faults, Usagef("--knative-namespace %q: %s", f.namespace, errs[0]))
	}
	return faults
}

// start adds the class to a manager. Only one process may have it: the first shard, and no agent of a
// group of LoadLines.
func (f *knativeFlags) start(m ctrl.Manager, lease *controller.Lease, board *kedascaler.Board, log *slog.Logger) error {
	if !f.enabled {
		return nil
	}
	c := knative.New(knative.Options{
		Client: controller.Fenced(m.GetClient(), lease), Live: m.GetAPIReader(), Namespace: f.namespace, Decisions: onBoard{board},
		Log: log.With("class", knative.Class), Now: time.Now, Scraper: knative.NewScraper(m.GetAPIReader(), f.namespace, time.Now),
	})
	return c.SetupWithManager(m)
}

// onBoard are the decisions of LoadLines, as KEDA gets them.
type onBoard struct{ board *kedascaler.Board }

// Replicas implements knative.Decisions.
func (b onBoard) Replicas(loadline types.NamespacedName, service string, now time.Time) (int, error) {
	d, err := kedascaler.Usable(b.board, kedascaler.Target{LoadLine: kedascaler.Name(loadline), Service: service}, now,
		kedascaler.DefaultMaxAge)
	if err != nil {
		return 0, fmt.Errorf("the LoadLine: %w", err)
	}
	return d.Replicas, nil
}
