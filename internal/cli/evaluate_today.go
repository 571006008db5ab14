package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/internal/advice"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/pipeline"
)

// todayFlags say what runs today.
type todayFlags struct {
	clusterFlags
	today, namespace string
}

// inCluster is the value of --today that means the objects of a cluster.
const inCluster = "cluster"

func (f *todayFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.today, "today", "", "what you run today: a file of objects (kubectl get hpa,vpa,scaledobject,deploy -o yaml), "+
		"cluster = the objects of a cluster, or a policy such as hpa:target=80 (as the history shows it, or else hpa)")
}

// addCluster adds the flags of the cluster.
func (f *todayFlags) addCluster(flags *pflag.FlagSet) {
	flags.StringVar(&f.namespace, "namespace", "", "with --today FILE or cluster: of the objects (a file: all; a cluster: the context's)")
	f.clusterFlags.add(flags)
}

// check the flags before anything is read.
func (f *todayFlags) check() error {
	if objects := f.today == inCluster || f.isFile(); !objects && f.namespace != "" {
		return Usagef("--namespace is for --today FILE and --today cluster")
	}
	if f.today != inCluster && (f.kubeconfig != "" || f.context != "") {
		return Usagef("--kubeconfig and --context are for --today cluster")
	}
	return nil
}

// isFile reports whether objects are in a file: policies have no such names. /dev/stdin is one.
func (f *todayFlags) isFile() bool {
	named := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(f.today))
	return filepath.IsAbs(f.today) || named && !strings.Contains(f.today, "=")
}

// apply sets what runs today. Bounds of the objects are those of all deployments.
func (f *todayFlags) apply(ctx context.Context, folder *pipeline.Folder, to *pipeline.EvaluationSettings) (*pipeline.Folder, error) {
	to.Today = f.today
	var objects []advice.Object
	var err error
	namespace := f.namespace
	switch {
	case f.today == inCluster:
		objects, namespace, err = f.fromCluster(ctx)
	case f.isFile():
		objects, err = f.fromFile()
	default:
		return folder, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--today: %w", err)
	}
	today, err := advice.ReadToday(folder.App, objects, namespace)
	if err != nil {
		return nil, fmt.Errorf("--today: %w", err)
	}
	to.Today = today.Spec
	to.Objects = pipeline.Objects{LeftOut: today.LeftOut, Notes: today.Notes, Aside: today.Aside}
	return folder.Within(today.Bounds), nil
}

func (f *todayFlags) fromFile() ([]advice.Object, error) {
	file, err := os.Open(f.today)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return advice.ReadObjects(f.today, file)
}

// clusterTimeout of one request to the API server.
const clusterTimeout = 15 * time.Second

// fromCluster reads the objects of a namespace.
func (f *todayFlags) fromCluster(ctx context.Context) ([]advice.Object, string, error) {
	config, namespace, err := f.configIn(f.namespace)
	if err != nil {
		return nil, "", err
	}
	config.Timeout = clusterTimeout
	reader, err := client.New(config, client.Options{})
	if err != nil {
		return nil, "", err
	}
	found, err := kube.ReadAutoscalers(ctx, reader, namespace)
	if err != nil {
		return nil, "", err
	}
	if len(found) == 0 {
		return nil, "", fmt.Errorf("namespace %s has no autoscalers and no workloads: name the application's with --namespace", namespace)
	}
	all, err := objectsOf(found)
	return all, namespace, err
}

// objectsOf a cluster.
func objectsOf(found []unstructured.Unstructured) ([]advice.Object, error) {
	all := make([]advice.Object, len(found))
	for i := range found {
		var err error
		if all[i], err = advice.ObjectOf(found[i].Object); err != nil {
			return nil, err
		}
	}
	return all, nil
}
