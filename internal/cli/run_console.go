package cli

import (
	"log/slog"
	"net"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/loadline/loadline"
	"github.com/loadline/loadline/internal/console"
	"github.com/loadline/loadline/internal/decisionlog"
	"github.com/loadline/loadline/internal/tlsfiles"
)

// consoleFlags are those of the read endpoint of run.
type consoleFlags struct {
	address, cert, key string
	hosts, peers       []string
}

func (f *consoleFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "console-address", "",
		"address of the console, which serves applications and decisions to users of the cluster, such as :9443; empty = not served")
	flags.StringVar(&f.cert, "console-cert", "",
		"certificate of the console; if the file does not exist yet, the console is served when it does")
	flags.StringVar(&f.key, "console-key", "", "its key")
	flags.StringSliceVar(&f.hosts, "console-hosts", nil,
		"names under which the console is addressed, comma-separated, besides IP addresses and localhost")
	flags.StringSliceVar(&f.peers, "console-peers", nil,
		"HOST:PORT of the consoles of all replicas, comma-separated, such as a headless service's: a standby passes requests on to the leader")
}

func (f *consoleFlags) check() (faults []error) {
	if f.address == "" {
		if f.cert != "" || f.key != "" || len(f.hosts) > 0 || len(f.peers) > 0 {
			faults = append(faults, Usagef("--console-cert, --console-key, --console-hosts and --console-peers need --console-address"))
		}
		return faults
	}
	if (f.cert == "") != (f.key == "") {
		faults = append(faults, Usagef("--console-cert and --console-key need each other"))
	}
	if f.cert == "" && !loopback(f.address) {
		faults = append(faults, Usagef("--console-address %s needs --console-cert and --console-key: requests carry tokens", f.address))
	}
	for _, p := range f.peers {
		if _, _, err := net.SplitHostPort(p); err != nil {
			faults = append(faults, Usagef("--console-peers: %q must be HOST:PORT", p))
		}
	}
	return faults
}

// serve adds the console to the manager, and returns what it wants to know of each decision; nil
// = there is no console.
func (f *consoleFlags) serve(m ctrl.Manager, run *liveFlags, log *slog.Logger) (
	func(namespace, name string, app *loadline.App, r *decisionlog.Record), error) {
	if f.address == "" {
		return nil, nil
	}
	o := console.Options{
		Address: f.address, Hosts: f.hosts, Peers: f.peers, Client: m.GetClient(), Cache: m.GetCache(), Elected: m.Elected(),
		Agent: run.fleet.agent, Decisions: run.decisions, Models: run.models, Log: log, Now: time.Now,
	}
	if f.cert != "" {
		o.TLS = tlsfiles.Files{CertFile: f.cert, KeyFile: f.key, Await: true}
	}
	s, err := console.New(o)
	if err != nil {
		return nil, err
	}
	return s.Record, m.Add(s)
}
