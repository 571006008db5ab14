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

// args that select the same cluster.
func (f *clusterFlags) args() []string {
	var all []string
	if f.kubeconfig != "" {
		all = append(all, "--kubeconfig="+f.kubeconfig)
	}
	if f.context != "" {
		all = append(all, "--context="+f.context)
	}
	return all
}

// config of the connection.
func (f *clusterFlags) config() (*rest.Config, error) {
	c, _, err := f.configIn("")
	return c, err
}

// configIn is the connection, and a namespace: the given one, or that of the context.
func (f *clusterFlags) configIn(namespace string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	c, err := loader.ClientConfig()
	if err == nil && namespace == "" {
		namespace, _, err = loader.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("which cluster? %w; name a kubeconfig with --kubeconfig", err)
	}
	// One process manages thousands of services; the API server's priority and fairness limits
	// us.
	c.QPS, c.Burst = 200, 400
	return c, namespace, nil
}
