package cli

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags select the cluster, as kubectl's do.
type clusterFlags struct {
	kubeconfig, context string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "",
		"how to reach the cluster (default: $KUBECONFIG, ~/.kube/config, or the pod's own account)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// config of the connection.
func (f *clusterFlags) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("which cluster? %w; name a kubeconfig with --kubeconfig", err)
	}
	// One process manages thousands of services; the API server's priority and fairness limits
	// us.
	c.QPS, c.Burst = 200, 400
	return c, nil
}
