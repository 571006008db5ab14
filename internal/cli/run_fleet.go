package cli

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/controller"
	"github.com/loadline/loadline/internal/fleet"
)

// runFleetFlags configure the fleet of students and teachers, for LoadLines whose policy is
// DRPC's.
type runFleetFlags struct {
	fleetFlags
	store       string
	maxStore    int64
	address     string
	teach       bool
	controllers int
	teachers    int
	agent       string
}

// Limits of one application on the embedded server, which serves many: a thousand services, or
// two hours of forty without their teacher.
const (
	embeddedStream = 8 << 20
	embeddedShelf  = 8 << 20
)

func (f *runFleetFlags) add(flags *pflag.FlagSet) {
	c := fleet.Default()
	f.maxExperience, f.perService, f.inFlight = c.MaxMessages, c.PerService, c.InFlight
	flags.StringVar(&f.url, "nats", "", "NATS servers of the fleets, comma-separated: nats://HOST:4222 or tls://HOST:4222 "+
		"(default: one in this process, started when a LoadLine needs it)")
	flags.StringVar(&f.credentials, "nats-credentials", "", "file with the credentials of a user of those servers")
	flags.StringVar(&f.tlsCA, "nats-ca", "", "CA file for the servers' certificates (default: the system's CAs)")
	flags.StringVar(&f.cert, "nats-cert", "", "file of the client certificate")
	flags.StringVar(&f.key, "nats-key", "", "file of its key")
	flags.IntVar(&f.replicas, "nats-replicas", 0,
		"servers that keep each decision, if its stream is not there yet; 0 = 3 in a cluster, else 1")
	flags.StringVar(&f.trustKeys, "fleet-trust-keys", "",
		"file, or folder of files *.pub, of the keys whose weights students use (default: weights need no signature)")
	flags.StringVar(&f.signKey, "fleet-sign-key", "",
		"file of the key with which teachers in this process sign weights, of loadline teacher keygen (default: not signed)")
	flags.StringVar(&f.name, "fleet", c.Name, "prefix of the names of fleets")
	flags.StringVar(&f.store, "fleet-store", "",
		"folder of the server in this process, and of what teachers keep (default: fleet beside --decisions)")
	flags.Int64Var(&f.maxStore, "fleet-max-store", 1024, "maximum size of this server's store in megabytes, 16 for each application")
	flags.StringVar(&f.address, "fleet-address", "",
		"where it listens for agents and teachers of other processes, HOST:PORT on this machine; empty = it serves this process alone")
	flags.BoolVar(&f.teach, "teach", true, "run teachers in this process (default with --nats: false, see loadline teacher)")
	flags.IntVar(&f.teachers, "teachers", controller.DefaultTeachers,
		"teachers that learn in this process at once; others count and publish until one ends")
	flags.IntVar(&f.controllers, "controllers", 0,
		"how many of these processes there are; with more than one DRPC needs --nats (default: 1, and several with --leader-elect)")
	flags.StringVar(&f.agent, "agent", "", "run only the LoadLines whose label loadline.dev/agent has this value")
}

// check reports invalid combinations of flags.
func (f *runFleetFlags) check(flags *pflag.FlagSet) []error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, Usagef(format, args...))
		}
	}
	if f.url != "" && !flags.Changed("teach") {
		f.teach = false
	}
	fault(f.url == "" && (f.credentials != "" || f.tlsCA != "" || f.cert != "" || f.key != "" || f.replicas != 0),
		"--nats-credentials, --nats-ca, --nats-cert, --nats-key and --nats-replicas need --nats")
	fault(f.url != "" && f.address != "", "--fleet-address is for the server in this process, --nats for others: give one of them")
	fault(f.agent != "" && !agentName.MatchString(f.agent),
		"--agent is %q, must be lower-case letters, digits and -, 40 at most, as it names the lease", f.agent)
	fault(f.teachers < 0, "--teachers is %d, must be at least 0", f.teachers)
	fault(f.controllers < 0, "--controllers is %d, must be at least 1", f.controllers)
	if f.url != "" {
		if err := f.config("loadline run", io.Discard).Validate(); err != nil {
			faults = append(faults, UsageError(err))
		}
	}
	return faults
}

// options of the fleet. Nothing is started yet.
func (f *runFleetFlags) options(decisions string, leaderElect bool, log *slog.Logger) controller.FleetOptions {
	config := f.config("loadline run", io.Discard)
	config.Log = log
	folder := f.store
	if folder == "" && decisions != "" {
		folder = filepath.Join(filepath.Dir(filepath.Clean(decisions)), "fleet")
	}
	server := fleet.DefaultServer(folder)
	server.MaxStore, server.Address, server.Log = f.maxStore<<20, f.address, log
	if f.url == "" {
		config.MaxBytes, config.WeightBytes = embeddedStream, embeddedShelf
	}
	o := controller.FleetOptions{Config: config, Server: server, Teach: f.teach, Teachers: f.teachers, Now: time.Now}
	if f.url == "" && f.several(leaderElect) {
		o.Refusal = errSeveral.Error()
	}
	return o
}

var agentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// several reports whether other processes may take over from this one. With a lease they may,
// unless a flag says that there are none.
func (f *runFleetFlags) several(leaderElect bool) bool {
	if f.controllers > 0 {
		return f.controllers > 1
	}
	return leaderElect
}

var errSeveral = errors.New("several controller replicas need an external NATS cluster for DRPC, " +
	"since a new leader would not have what was learned: give --nats (chart: fleet.nats), " +
	"or run one replica and set --controllers 1 (chart: replicas 1); until then the fallback rule decides")
