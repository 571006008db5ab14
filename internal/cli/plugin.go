package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/suggest"
)

// pluginName is the name under which kubectl finds the program.
const pluginName = "kubectl-loadline"

// completerName is the name under which kubectl, from version 1.26 on, asks the plugin what a command
// line can go on with.
const completerName = "kubectl_complete-loadline"

// RootOf is the root command by the name that the program was started with: the plugin of
// kubectl is the same program under another name.
func RootOf(program string) func() *cobra.Command {
	switch programName(program) {
	case pluginName, completerName:
		return NewPlugin
	}
	return NewRoot
}

// programName is the name of a file without folder and ending.
func programName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// NewPlugin is kubectl loadline.
func NewPlugin() *cobra.Command {
	root := NewProgram("kubectl-loadline", []Group{
		{"See", []*cobra.Command{newPluginStatus(), newPluginTop(), newPluginExplain(), newPluginWhy(), newPluginDiff(), newUI()}},
		{"Change", []*cobra.Command{newPluginPause(), newPluginResume(), newPluginPromote(), newPluginRollback()}},
	})
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl loadline"}
	root.Short = "See what Loadline does in a cluster, and why, with your own permissions"
	root.Long = `Shows the LoadLines that you may read, explains their decisions, and changes those that
you may change. It uses your kubeconfig: your own permissions apply, and nothing else.

Decisions are read from the console of the controller, through the API server's proxy
(or --console URL). The console needs a token: with a kubeconfig that has a client
certificate only, the commands show what the LoadLines' status has.`
	root.Example = `  kubectl loadline status -A
  kubectl loadline why web -n shop
  kubectl loadline top`
	return root
}

// pluginFlags are those of every command of the plugin.
type pluginFlags struct {
	clusterFlags
	namespace, system, console, consoleCA string
	all                                   bool

	config *rest.Config
	client client.Client
	asked  *consoleClient
}

func (f *pluginFlags) add(flags *pflag.FlagSet, severalNamespaces bool) {
	flags.SortFlags = false
	f.clusterFlags.add(flags)
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the LoadLine (default: that of the context)")
	if severalNamespaces {
		flags.BoolVarP(&f.all, "all-namespaces", "A", false, "LoadLines of all namespaces that you may list")
	}
	flags.StringVar(&f.system, "system-namespace", "loadline-system", "namespace of the controller")
	flags.StringVar(&f.console, "console", "", "address of the console, such as https://localhost:9443 (default: through the API server)")
	flags.StringVar(&f.consoleCA, "console-ca", "", "with --console: file with the CA of its certificate (default: those of the system)")
}

// connect with the user's kubeconfig.
func (f *pluginFlags) connect() error {
	if f.consoleCA != "" && f.console == "" {
		return Usagef("--console-ca needs --console")
	}
	var err error
	if f.config, f.namespace, err = f.configIn(f.namespace); err != nil {
		return err
	}
	scheme, err := clusterScheme()
	if err != nil {
		return err
	}
	if f.client, err = client.New(f.config, client.Options{Scheme: scheme}); err != nil {
		return clusterError(err)
	}
	f.asked, err = newConsoleClient(f.config, f.system, f.console, f.consoleCA)
	return err
}

// connectOne connects and reads one LoadLine.
func (f *pluginFlags) connectOne(ctx context.Context, name string) (*v1alpha1.LoadLine, error) {
	if err := f.connect(); err != nil {
		return nil, err
	}
	return f.one(ctx, name)
}

// one LoadLine by its name; without one, the only one of the namespace.
func (f *pluginFlags) one(ctx context.Context, name string) (*v1alpha1.LoadLine, error) {
	var list v1alpha1.LoadLineList
	if err := f.client.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
		if name != "" { // some may read one, and not list all
			var l v1alpha1.LoadLine
			err := f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, &l)
			return f.completed(ctx, &l), pluginError(err)
		}
		return nil, pluginError(err)
	}
	var names []string
	for i := range list.Items {
		if l := &list.Items[i]; l.Name == name || name == "" && len(list.Items) == 1 {
			return f.completed(ctx, l), nil
		}
		names = append(names, list.Items[i].Name)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("the namespace %s has no LoadLine", f.namespace)
	case name == "":
		return nil, Usagef("the namespace %s has several LoadLines: name one of %s", f.namespace, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("the namespace %s has no LoadLine %q%s", f.namespace, name, suggest.Hint(name, names))
}

// completed has the services that the selector finds, for users who may list workloads.
func (f *pluginFlags) completed(ctx context.Context, l *v1alpha1.LoadLine) *v1alpha1.LoadLine {
	if full, err := kube.Completed(ctx, f.client, l); err == nil {
		return full
	}
	return l
}

// withService finds the LoadLine of a service, if none is named.
func (f *pluginFlags) withService(ctx context.Context, name, service string) (*v1alpha1.LoadLine, error) {
	if name != "" {
		return f.one(ctx, name)
	}
	var list v1alpha1.LoadLineList
	if err := f.client.List(ctx, &list, client.InNamespace(f.namespace)); err != nil {
		return nil, pluginError(err)
	}
	var known []string
	for i := range list.Items {
		l := f.completed(ctx, &list.Items[i])
		for _, s := range l.Spec.Services {
			if s.Name == service {
				return l, nil
			}
			known = append(known, s.Name)
		}
	}
	slices.Sort(known)
	return nil, fmt.Errorf("no LoadLine of the namespace %s has a service %q%s", f.namespace, service, suggest.Hint(service, known))
}

func pluginError(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); strings.Contains(text, "no matches for kind \"LoadLine\"") {
		return fmt.Errorf("the cluster has no LoadLine definition: kubectl apply -f deploy/crd: %w", err)
	}
	return err
}

// consoleClient asks the console with the user's token.
type consoleClient struct {
	http *http.Client
	base string
}

// errNoUserToken: the kubeconfig identifies the user by a certificate, which the proxy keeps for itself.
var errNoUserToken = errors.New("your kubeconfig has no token, which the console needs")

// mostConsole is the size of an answer.
const mostConsole = 16 << 20

func newConsoleClient(config *rest.Config, system, address, ca string) (*consoleClient, error) {
	c := rest.CopyConfig(config)
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" && u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" || u.Host == "" {
			return nil, Usagef("--console %q must be a URL such as https://localhost:9443", address)
		}
		c.Host, c.TLSClientConfig = address, rest.TLSClientConfig{CAFile: ca}
	}
	// Inside the client's own authentication: the token is in the request by then.
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !is {
				return nil, errNoUserToken
			}
			if address == "" {
				r = r.Clone(r.Context())
				r.Header.Set(console.TokenHeader, token)
			}
			return next.RoundTrip(r)
		})
	})
	c.Timeout = 30 * time.Second
	h, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(c.Host, "/")
	if address == "" {
		if !strings.Contains(base, "://") {
			base = "https://" + base
		}
		base += "/api/v1/namespaces/" + system + "/services/https:loadline-console:console/proxy"
	}
	return &consoleClient{h, base}, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// get an answer of the console.
func (c *consoleClient) get(ctx context.Context, path string, query url.Values, into any) error {
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return fmt.Errorf("the console does not answer: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostConsole))
	if err != nil {
		return fmt.Errorf("the console's answer: %w", err)
	}
	if answer.StatusCode == http.StatusOK {
		return json.Unmarshal(body, into)
	}
	var said struct{ Error, Message string } // of the console, or of the API server
	if json.Unmarshal(body, &said) != nil || said.Error+said.Message == "" {
		said.Error = strings.TrimSpace(string(body[:min(len(body), 200)]))
	}
	return fmt.Errorf("the console answers %s: %s", answer.Status, said.Error+said.Message)
}

func applicationPath(l *v1alpha1.LoadLine) string {
	return "/api/v1/applications/" + url.PathEscape(l.Namespace) + "/" + url.PathEscape(l.Name)
}
