package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
)

// previous is what a rollback returns to.
type previous struct {
	Policy v1alpha1.Policy `json:"policy"`
	Mode   v1alpha1.Mode   `json:"mode"`
}

// patchTries at a LoadLine whose status changes all the time.
const patchTries = 10

// patch a LoadLine, if its spec and annotations are still those that were read. A status that was
// written meanwhile does not matter.
func (f *pluginFlags) patch(ctx context.Context, l *v1alpha1.LoadLine, change map[string]any) error {
	metadata, _ := change["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		change["metadata"] = metadata
	}
	generation, annotations := l.Generation, maps.Clone(l.Annotations)
	for try := 1; ; try++ {
		metadata["resourceVersion"] = l.ResourceVersion
		text, err := json.Marshal(change)
		if err != nil {
			return err
		}
		err = f.client.Patch(ctx, l, client.RawPatch(types.MergePatchType, text))
		if !apierrors.IsConflict(err) || try == patchTries {
			return pluginError(err)
		}
		if err := f.client.Get(ctx, client.ObjectKeyFromObject(l), l); err != nil {
			return pluginError(err)
		}
		if l.Generation != generation || !maps.Equal(l.Annotations, annotations) {
			return fmt.Errorf("LoadLine %s/%s was changed by somebody else meanwhile: look at it, and run the command again", l.Namespace, l.Name)
		}
	}
}

// checkServices checks names of services.
func checkServices(l *v1alpha1.LoadLine, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(l.Spec.Services, func(s v1alpha1.Service) bool { return s.Name == name }) {
			return fmt.Errorf("LoadLine %s has no service %q", l.Name, name)
		}
	}
	return nil
}

func newPluginPause() *cobra.Command {
	var f pluginFlags
	var services []string
	c := &cobra.Command{
		Use:   "pause [NAME]",
		Short: "Pause changes of an application, or of some services",
		Example: `  kubectl loadline pause web -n shop
  kubectl loadline pause web -n shop --services checkout,cart`,
		Args: upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := f.connectOne(c.Context(), first(args))
			if err != nil {
				return err
			}
			if err := checkServices(l, services); err != nil {
				return err
			}
			value, what := "true", "all services"
			if len(services) > 0 {
				if p := l.Pause(); !p.All {
					services = append(services, p.Services...)
				}
				slices.Sort(services)
				value = strings.Join(slices.Compact(services), ",")
				what = value
			}
			if err := f.patch(c.Context(), l, annotate(v1alpha1.PausedAnnotation, value)); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s/%s is paused: %s\n", l.Namespace, l.Name, what)
			return nil
		},
	}
	f.add(c.Flags(), false)
	c.Flags().StringSliceVar(&services, "services", nil, "pause these services only, comma-separated (default: all)")
	return c
}

func annotate(name string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}
}

func newPluginResume() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:   "resume [NAME]",
		Short: "Resume changes of an application",
		Long: `Removes the annotation loadline.dev/paused and spec.paused from a LoadLine. Services
that are paused in the spec, and workloads that have the annotation themselves, stay
paused and are named.`,
		Example: `  kubectl loadline resume web -n shop`,
		Args:    upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := f.connectOne(c.Context(), first(args))
			if err != nil {
				return err
			}
			change := annotate(v1alpha1.PausedAnnotation, nil)
			if l.Spec.Paused {
				change["spec"] = map[string]any{"paused": false}
			}
			if err := f.patch(c.Context(), l, change); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s/%s is resumed\n", l.Namespace, l.Name)
			if p := l.Pause(); len(p.Services) > 0 {
				fmt.Fprintf(c.OutOrStdout(), "still paused in the spec: %s\n", strings.Join(p.Services, ", "))
			}
			return nil
		},
	}
	f.add(c.Flags(), false)
	return c
}

func newPluginPromote() *cobra.Command {
	var f pluginFlags
	var policy, mode string
	var version int32
	c := &cobra.Command{
		Use:   "promote [NAME]",
		Short: "Put another policy, version or mode in charge; rollback returns to the one before",
		Long: `Changes spec.policy or spec.mode of a LoadLine, and keeps what it was in the annotation
loadline.dev/previous for rollback. Without a flag it is the deployment that is estimated
to be better by now (condition RunnerUpAhead), if there is one. Models are promoted to
the registry by "loadline promote", which judges them first.`,
		Example: `  kubectl loadline promote web -n shop --mode Act
  kubectl loadline promote web -n shop --policy hpa:target=60
  kubectl loadline promote web -n shop --version 3`,
		Args: upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			if mode != "" && !slices.Contains([]string{"Observe", "Recommend", "Act"}, mode) {
				return Usagef("--mode %q must be Observe, Recommend or Act", mode)
			}
			if policy != "" && version != 0 {
				return Usagef("--policy and --version exclude each other")
			}
			l, err := f.connectOne(c.Context(), first(args))
			if err != nil {
				return err
			}
			spec, what, err := promotion(l, policy, version, mode)
			if err != nil {
				return err
			}
			was, err := json.Marshal(previous{l.Spec.Policy, l.Spec.Mode})
			if err != nil {
				return err
			}
			change := annotate(v1alpha1.PreviousAnnotation, string(was))
			change["spec"] = spec
			if err := f.patch(c.Context(), l, change); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s/%s: %s; kubectl loadline rollback %s -n %s returns to what it was\n", l.Namespace, l.Name, what, l.Name,
				l.Namespace)
			return nil
		},
	}
	f.add(c.Flags(), false)
	c.Flags().StringVar(&policy, "policy", "", "a policy that needs no model, such as hpa:target=60")
	c.Flags().Int32Var(&version, "version", 0, "a version of the model in the registry")
	c.Flags().StringVar(&mode, "mode", "", "Observe, Recommend or Act")
	return c
}

// promotion is the change of the spec, and what it does in words.
func promotion(l *v1alpha1.LoadLine, policy string, version int32, mode string) (map[string]any, string, error) {
	spec, words := map[string]any{}, []string{}
	if policy == "" && version == 0 && mode == "" {
		p := l.Status.Portfolio
		if p == nil || p.Ahead == "" {
			return nil, "", Usagef("no other deployment of %s is estimated to be better: give --policy, --version or --mode", l.Name)
		}
		for _, o := range p.Others {
			if o.Name == p.Ahead {
				policy = o.Policy
			}
		}
		if policy == "" {
			return nil, "", fmt.Errorf("%s, which is estimated to be better, is a model: loadline evaluate and loadline promote judge it first",
				p.Ahead)
		}
	}
	if version != 0 {
		if l.Spec.Policy.Model == nil {
			return nil, "", fmt.Errorf("--version %d: spec.policy of %s is no model but %q", version, l.Name, l.Spec.Policy.Baseline)
		}
		spec["policy"] = map[string]any{"model": map[string]any{"version": version}}
		words = append(words, fmt.Sprintf("the policy is now version %d", version))
	}
	if policy != "" {
		spec["policy"] = map[string]any{"baseline": policy, "model": nil}
		words = append(words, "the policy is now "+policy)
	}
	if mode != "" {
		spec["mode"] = mode
		words = append(words, "the mode is now "+mode)
	}
	return spec, strings.Join(words, ", "), nil
}

func newPluginRollback() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:     "rollback [NAME]",
		Short:   "Return to the policy and the mode before the last promote",
		Example: `  kubectl loadline rollback web -n shop`,
		Args:    upTo(1, "a LoadLine"),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := f.connectOne(c.Context(), first(args))
			if err != nil {
				return err
			}
			text, has := l.Annotations[v1alpha1.PreviousAnnotation]
			if !has {
				return fmt.Errorf("%s/%s has no annotation %s: kubectl loadline promote writes it", l.Namespace, l.Name, v1alpha1.PreviousAnnotation)
			}
			var to previous
			if err := json.Unmarshal([]byte(text), &to); err != nil {
				return fmt.Errorf("%s/%s: annotation %s is not understood: %w", l.Namespace, l.Name, v1alpha1.PreviousAnnotation, err)
			}
			was, err := json.Marshal(previous{l.Spec.Policy, l.Spec.Mode})
			if err != nil {
				return err
			}
			policy := map[string]any{"baseline": nil, "model": nil}
			if to.Policy.Model != nil {
				policy["model"] = to.Policy.Model
				if l.Spec.Policy.Model != nil && to.Policy.Model.Version == nil {
					policy["model"] = map[string]any{"version": nil}
				}
			} else {
				policy["baseline"] = to.Policy.Baseline
			}
			change := annotate(v1alpha1.PreviousAnnotation, string(was))
			change["spec"] = map[string]any{"policy": policy, "mode": to.Mode}
			if err := f.patch(c.Context(), l, change); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s/%s: returned to mode %s and the policy before\n", l.Namespace, l.Name, to.Mode)
			return nil
		},
	}
	f.add(c.Flags(), false)
	return c
}
