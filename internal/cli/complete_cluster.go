package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// mostCompletion is how long completion waits for a cluster. What it cannot ask it does not propose.
const mostCompletion = 3 * time.Second

// askCluster reads a list for completion, from the cluster that the command line names so far.
func askCluster(c *cobra.Command, into client.ObjectList, everywhere bool) bool {
	where := clusterFlags{kubeconfig: flagText(c, "kubeconfig"), context: flagText(c, "context")}
	config, namespace, err := where.configIn(flagText(c, "namespace"))
	if err != nil {
		return false
	}
	config.Timeout, config.WarningHandler = mostCompletion, rest.NoWarnings{}
	scheme, err := clusterScheme()
	if err != nil {
		return false
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), mostCompletion)
	defer cancel()
	var in []client.ListOption
	if !everywhere && flagText(c, "all-namespaces") != "true" {
		in = append(in, client.InNamespace(namespace))
	}
	return direct.List(ctx, into, in...) == nil
}

func clusterNamespaces(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all corev1.NamespaceList
	var names []string
	if askCluster(c, &all, true) {
		for i := range all.Items {
			names = append(names, all.Items[i].Name)
		}
	}
	return startingWith(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// loadLines completes NAME in the namespace, or NAMESPACE/NAME in all.
func loadLines(everywhere bool) completer {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var all v1alpha1.LoadLineList
		var names []string
		if askCluster(c, &all, everywhere) {
			for i := range all.Items {
				name := all.Items[i].Name
				if everywhere {
					name = all.Items[i].Namespace + "/" + name
				}
				if !slices.Contains(args, name) {
					names = append(names, name)
				}
			}
		}
		return startingWith(names, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// servicesOf the LoadLines of the namespace: of the one that is named, if one is.
func servicesOf(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	named := flagText(c, "loadline")
	if named == "" && c.Name() != "why" && len(args) > 0 {
		named = args[0]
	}
	var all v1alpha1.LoadLineList
	var names []string
	if askCluster(c, &all, false) {
		for i := range all.Items {
			if named != "" && all.Items[i].Name != named {
				continue
			}
			for _, s := range all.Items[i].Spec.Services {
				names = append(names, s.Name)
			}
			for _, s := range all.Items[i].Status.Services { // those that a selector finds
				names = append(names, s.Name)
			}
		}
	}
	slices.Sort(names)
	return startingWith(slices.Compact(names), typed), cobra.ShellCompDirectiveNoFileComp
}

func kubeContexts(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = flagText(c, "kubeconfig")
	var names []string
	if config, err := rules.Load(); err == nil {
		for name := range config.Contexts {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return startingWith(names, typed), cobra.ShellCompDirectiveNoFileComp
}
