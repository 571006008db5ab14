package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/controller"
	"github.com/loadline/loadline/internal/kedascaler"
	"github.com/loadline/loadline/internal/kube"
	"github.com/loadline/loadline/internal/metrics/prom"
	"github.com/loadline/loadline/internal/suggest"
)

type liveFlags struct {
	clusterFlags
	fleet                          runFleetFlags
	namespaces                     []string
	leaderElect                    bool
	leaseNamespace                 string
	leaseWait                      time.Duration
	sharding                       controller.Sharding
	models, decisions              string
	decisionsMax                   int64
	decisionsKeep                  time.Duration
	metricsAddress, healthAddress  string
	kedaAddress                    string
	kedaCert, kedaKey, kedaClients string
	kedaPlainText                  bool
	kedaHosts                      []string
	console                        consoleFlags
	notify                         notifyFlags
	knative                        knativeFlags
	prometheus                     string
	allowPrometheus                []string
	allowed                        prom.AllowList
	answerMemory                   int64
	hpaTolerance                   float64
	logFormat, logLevel            string
	once, dryRun                   bool
	output                         Format
}

func newRun() *cobra.Command {
	var f liveFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Run the LoadLines of a cluster",
		Long: `Watches the LoadLine resources of a cluster and runs one loop for each: observe
through Prometheus and the API server, decide, guard, apply, and publish the result
in the resource's status, as Events, as metrics and in a decision log on disk (see
explain).

Of several processes the one that holds the lease decides; the others are ready to
take over, and answer KEDA from the resources' status meanwhile. With --shards the
LoadLines are divided by their names, and each shard has a lease and processes of
its own (docs/scale.md).

LoadLines whose policy is a teacher with students (train --formulation drpc)
communicate over NATS: a server in this process, or with --nats an external cluster, which
several replicas need. One process may run all LoadLines, or several processes as
agents a group of them each (--agent).

To see what it would do, from your own machine and without changing anything, use
--once --dry-run. Without --dry-run, --once needs the lease, so that it cannot act
together with a controller: it waits for it, renews it while it works, and releases
it at the end.`,
		Example: `  # What would be done now? Nothing is changed.
  loadline run --once --dry-run
  loadline run --once --dry-run --namespaces shop --output json

  # In a cluster (deploy/ and the Helm chart do this)
  loadline run --leader-elect --models /models --decisions /var/lib/loadline/decisions

  # Scale Knative Services of the class loadline.dev, too
  loadline run --leader-elect --knative

  # The second of two shards
  loadline run --leader-elect --shards 2 --shard 1 --models /models --decisions /var/lib/loadline/decisions

  # Students of one group of LoadLines, their teacher elsewhere
  loadline run --agent edge --leader-elect --nats tls://nats:4222 --nats-ca ca.pem --nats-credentials agent.creds`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.clusterFlags.add(flags)
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "run the LoadLines of these namespaces only, comma-separated (default: all)")
	flags.BoolVar(&f.leaderElect, "leader-elect", false, "decide only while holding the lease, so that several processes can run")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", "", "namespace of the lease (default: that of the pod, or loadline-system)")
	flags.DurationVar(&f.leaseWait, "lease-wait", 30*time.Second,
		"with --once and without --dry-run: how long to wait for the lease")
	flags.IntVar(&f.sharding.Shards, "shards", 1,
		"divide the LoadLines over so many shards by their names; every process must have the same number, and every shard a process")
	flags.IntVar(&f.sharding.Shard, "shard", 0, "the shard that this process runs, from 0; each has a lease of its own")
	flags.StringVar(&f.models, "models", "models", "folder below which models are read, as promote writes them")
	flags.StringVar(&f.decisions, "decisions", "", "folder for decision logs (default: none)")
	flags.Int64Var(&f.decisionsMax, "decisions-max", controller.DefaultDecisionsMax>>20,
		"maximum size of all decision logs together in megabytes; the oldest records are dropped first")
	flags.DurationVar(&f.decisionsKeep, "decisions-keep", controller.DefaultDecisionsKeep,
		"how long the decision log of a deleted LoadLine is kept")
	flags.StringVar(&f.prometheus, "prometheus", "",
		"Prometheus of LoadLines without spec.prometheus.url whose class has none, without credentials: http://prometheus.monitoring:9090")
	flags.StringSliceVar(&f.allowPrometheus, "allow-prometheus", nil,
		"where spec.prometheus.url may point to, comma-separated: http://prometheus.monitoring:9090, https://*.example/tenant (default: anywhere)")
	flags.Int64Var(&f.answerMemory, "answer-memory", prom.DefaultBudget>>20,
		"memory in megabytes for the answers of Prometheus, of all LoadLines together; one LoadLine has a quarter of it at most")
	flags.StringVar(&f.metricsAddress, "metrics-address", ":8080", "address of /metrics; empty = not served")
	flags.StringVar(&f.healthAddress, "health-address", ":8081", "address of /healthz and /readyz; empty = not served")
	flags.StringVar(&f.kedaAddress, "keda-address", "", "address of the KEDA external scaler, such as :9092; empty = not served")
	flags.StringVar(&f.kedaCert, "keda-cert", "",
		"certificate for KEDA's connections; if the file does not exist yet, KEDA is served when it does")
	flags.StringVar(&f.kedaKey, "keda-key", "", "its key")
	flags.StringVar(&f.kedaClients, "keda-client-ca", "", "authority of the certificates that KEDA must show (mutual TLS)")
	flags.BoolVar(&f.kedaPlainText, "keda-plain-text", false,
		"serve KEDA without TLS: every pod that reaches the address can read the desired replicas")
	flags.StringSliceVar(&f.kedaHosts, "keda-hosts", []string{"loadline-keda.loadline-system"},
		"hosts in a trigger's scalerAddress that mean this process")
	flags.Float64Var(&f.hpaTolerance, "hpa-tolerance", kedascaler.DefaultHPATolerance,
		"the cluster's --horizontal-pod-autoscaler-tolerance")
	f.console.add(flags)
	f.notify.add(flags)
	f.knative.add(flags)
	f.fleet.add(flags)
	flags.StringVar(&f.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.BoolVar(&f.once, "once", false, "make one pass over each LoadLine and exit")
	flags.BoolVar(&f.dryRun, "dry-run", false, "decide and change nothing, whatever the mode; the status is not written either")
	f.output.AddFor(flags, "with --once")
	return c
}

func (f *liveFlags) run(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	log, err := f.check(flags, stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	klog.SetLogger(logr.FromSlogHandler(log.Handler()))
	config, err := f.config()
	if err != nil {
		return err
	}
	scheme, err := clusterScheme()
	if err != nil {
		return err
	}
	if f.once {
		return f.runOnce(ctx, config, scheme, log, stdout)
	}
	return f.serve(ctx, config, scheme, log)
}

// check validates the flags and reports all faults at once.
func (f *liveFlags) check(flags *pflag.FlagSet, stderr io.Writer) (*slog.Logger, error) {
	var faults []error
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		faults = append(faults, Usagef("--log-level %q must be debug, info, warn or error", f.logLevel))
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch f.logFormat {
	case "text":
		handler = slog.NewTextHandler(stderr, options)
	case "json":
		handler = slog.NewJSONHandler(stderr, options)
	default:
		faults = append(faults, Usagef("--log-format %q must be text or json%s", f.logFormat, suggest.Hint(f.logFormat, []string{"text",
			"json"})))
	}
	var err error
	if f.allowed, err = prom.ParseAllowList(f.allowPrometheus); err != nil {
		faults = append(faults, Usagef("--allow-prometheus: %v", err))
	}
	if f.prometheus != "" {
		if err := errors.Join(prom.Server{URL: f.prometheus}.Validate(), f.allowed.Check(f.prometheus)); err != nil {
			faults = append(faults, Usagef("--prometheus: %v", err))
		}
	}
	if f.decisionsMax < 16 || f.decisionsKeep < time.Minute {
		faults = append(faults, Usagef("--decisions-max is %d and --decisions-keep %v, must be at least 16 megabytes and 1m",
			f.decisionsMax, f.decisionsKeep))
	}
	if f.answerMemory < 16 {
		faults = append(faults, Usagef("--answer-memory is %d, must be at least 16 megabytes", f.answerMemory))
	}
	if f.kedaAddress == "" && (f.kedaCert != "" || f.kedaKey != "" || f.kedaClients != "") {
		faults = append(faults, Usagef("--keda-cert, --keda-key and --keda-client-ca need --keda-address"))
	}
	if f.kedaAddress != "" && f.kedaCert == "" && !f.kedaPlainText && !loopback(f.kedaAddress) {
		faults = append(faults, Usagef("--keda-address %s is served with TLS: give --keda-cert and --keda-key, or --keda-plain-text",
			f.kedaAddress))
	}
	if f.kedaCert != "" && f.kedaPlainText {
		faults = append(faults, Usagef("--keda-plain-text and --keda-cert exclude each other"))
	}
	if f.leaseWait < 0 || flags.Changed("lease-wait") && (!f.once || f.dryRun) {
		faults = append(faults, Usagef("--lease-wait is %v, must not be negative, and needs --once without --dry-run", f.leaseWait))
	}
	faults = append(faults, f.console.check()...)
	faults = append(faults, f.notify.check()...)
	faults = append(faults, f.knative.check(f.dryRun, f.once)...)
	faults = append(faults, f.checkSharding()...)
	faults = append(faults, f.fleet.check(flags)...)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return slog.New(handler), nil
}

// checkSharding reports what is wrong with the shards.
func (f *liveFlags) checkSharding() (faults []error) {
	s := f.sharding
	if s.Shards < 1 || s.Shards > controller.MaxShards {
		faults = append(faults, Usagef("--shards is %d, must be 1 to %d", s.Shards, controller.MaxShards))
	}
	if s.Shard < 0 || s.Shard >= max(s.Shards, 1) {
		faults = append(faults, Usagef("--shard is %d, must be 0 to %d with --shards %d", s.Shard, s.Shards-1, s.Shards))
	}
	if s.Shards > 1 && !f.leaderElect {
		faults = append(faults, Usagef("--shards %d needs --leader-elect: the lease of each shard keeps processes apart", s.Shards))
	}
	if s.Shards > 1 && f.fleet.agent != "" {
		faults = append(faults, Usagef("--shards and --agent exclude each other: an agent runs the LoadLines of its label"))
	}
	if s.Shards > 1 && f.once {
		faults = append(faults, Usagef("--shards and --once exclude each other: --once passes over all LoadLines"))
	}
	return faults
}

// loopback reports whether an address is reachable from this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// clusterScheme has the types that are exchanged with the API server.
func clusterScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// serve until the context ends.
func (f *liveFlags) serve(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, log *slog.Logger) error {
	options := f.managerOptions(scheme, log)
	var lock *resourcelock.LeaseLock
	if f.leaderElect {
		var err error
		if lock, err = f.newLock(config); err != nil {
			return clusterError(err)
		}
		options.LeaderElectionResourceLockInterface = lock
		config = rest.CopyConfig(config)
		config.Timeout, options.NewCache = requestTimeout, newCache
	}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return clusterError(err)
	}
	var lease *controller.Lease
	if lock != nil {
		//lint:ignore SA1019 the lock takes a recorder of core events, as its Role allows
		lock.LockConfig.EventRecorder = manager.GetEventRecorderFor(lock.Identity())
		lease = f.fence(lock, manager.GetAPIReader())
	}
	board := kedascaler.NewBoard()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meeting := f.meeting(log)
	shown, err := f.console.serve(manager, f, log)
	if err != nil {
		return err
	}
	told, err := f.notify.start(manager, log)
	if err != nil {
		return err
	}
	var disagreed atomic.Pointer[error]
	if lease != nil && f.sharding.Shards > 1 {
		lease.Disagreed = func(err error) {
			disagreed.Store(&err)
			cancel()
		}
		if err := manager.Add(lease); err != nil {
			return err
		}
	}
	c := controller.New(ctx, controller.Options{
		Client: manager.GetClient(), Live: manager.GetAPIReader(), Log: log, Now: time.Now,
		Events: manager.GetEventRecorder("loadline"), Board: board, Metrics: controller.NewMetrics(metrics.Registry),
		ScalerHosts: f.kedaHosts, Prometheus: f.prometheus, AllowPrometheus: f.allowed,
		Answers: prom.NewBudget(f.answerMemory << 20), Models: f.models,
		Decisions: f.decisions, DecisionsMax: f.decisionsMax << 20, DecisionsKeep: f.decisionsKeep, DryRun: f.dryRun,
		Recorded: shown, Notify: told, Lease: lease, CPUTime: ThreadCPUTime, Fleet: meeting, Agent: f.fleet.agent, Namespace: f.lease(),
		Reserves: f.fleet.agent == "" && len(f.namespaces) == 0 && f.sharding.Shard == 0, Sharding: f.sharding,
	})
	if err := c.SetupWithManager(manager); err != nil {
		return clusterError(err)
	}
	if err := manager.Add(&controller.Standby{Cache: manager.GetCache(), Board: board, Elected: manager.Elected(),
		Agent: f.fleet.agent, Sharding: f.sharding, Log: log}); err != nil {
		return err
	}
	if f.sharding.Shard == 0 && f.fleet.agent == "" {
		if err := f.knative.start(manager, lease, board, log); err != nil {
			return err
		}
	}
	if f.kedaAddress != "" {
		server, err := kedascaler.New(board, kedascaler.Options{
			Address: f.kedaAddress, HPATolerance: f.hpaTolerance, Log: log,
			TLS: kedascaler.TLS{CertFile: f.kedaCert, KeyFile: f.kedaKey, ClientCAFile: f.kedaClients, Await: f.kedaCert != ""},
		})
		if err != nil {
			return err
		}
		if err := manager.Add(server); err != nil {
			return err
		}
	}
	health := &controller.Health{Controller: c}
	if err := errors.Join(manager.Add(health),
		manager.AddHealthzCheck("loops", func(*http.Request) error { return health.Live() }),
		manager.AddReadyzCheck("caches-and-loops", func(*http.Request) error { return health.Ready() })); err != nil {
		return err
	}
	log.Info("loadline started", "version", version+revision(), "namespaces", orAll(f.namespaces), "shard", f.sharding.Shard,
		"shards", f.sharding.Shards, "models", f.models,
		"decisions", f.decisions, "keda", f.kedaAddress, "dryRun", f.dryRun)
	err = manager.Start(ctx)
	cancel() // the lease may be lost without a signal to the process
	c.Wait()
	if meeting != nil {
		err = errors.Join(err, meeting.Close())
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if because := disagreed.Load(); because != nil {
		return *because
	}
	return clusterError(err)
}

func (f *liveFlags) managerOptions(scheme *runtime.Scheme, log *slog.Logger) ctrl.Options {
	o := ctrl.Options{
		Scheme: scheme, Logger: logr.FromSlogHandler(log.Handler()),
		Metrics:                metricsserver.Options{BindAddress: orZero(f.metricsAddress)},
		HealthProbeBindAddress: orZero(f.healthAddress),
		LeaderElection:         f.leaderElect, LeaderElectionID: f.leaseName(), LeaderElectionNamespace: f.lease(),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration), RenewDeadline: new(renewDeadline), RetryPeriod: new(renewEvery),
		Cache: cache.Options{
			DefaultTransform: kube.Strip,
			ByObject:         map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: kube.Strip}},
		},
		// Secrets and ConfigMaps are read by name, where that is allowed: a cache would
		// have to list them all.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
			Unstructured: true}},
	}
	if len(f.namespaces) > 0 {
		o.Cache.DefaultNamespaces = map[string]cache.Config{}
		for _, n := range f.namespaces {
			o.Cache.DefaultNamespaces[n] = cache.Config{}
		}
	}
	return o
}

// leaseName is the lease of this process and its replicas; each agent and each shard has its own.
func (f *liveFlags) leaseName() string {
	if f.fleet.agent == "" {
		return controller.LeaseOf(leaseName, f.sharding.Shard)
	}
	return leaseName + "-" + f.fleet.agent
}

// meeting connects students and teachers; nil in a dry run, which applies nothing and so has
// nothing to learn from.
func (f *liveFlags) meeting(log *slog.Logger) *controller.Fleet {
	if f.dryRun {
		return nil
	}
	return controller.NewFleet(f.fleet.options(f.decisions, f.leaderElect, log))
}

// lease is the namespace of the lease.
func (f *liveFlags) lease() string {
	if f.leaseNamespace != "" {
		return f.leaseNamespace
	}
	if n, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace"); err == nil {
		return strings.TrimSpace(string(n))
	}
	return "loadline-system"
}

// orZero is controller-runtime's notation for "not served".
func orZero(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

func orAll(namespaces []string) string {
	if len(namespaces) == 0 {
		return "all"
	}
	return strings.Join(namespaces, ",")
}

// clusterError adds advice for an API server that does not answer, or has no LoadLine
// definition.
func clusterError(err error) error {
	if err == nil {
		return nil
	}
	if strings.Contains(err.Error(), "no matches for kind \"LoadLine\"") {
		return fmt.Errorf("the cluster has no LoadLine definition: kubectl apply -f deploy/crd: %w", err)
	}
	return fmt.Errorf("%w; loadline doctor reports what a cluster lacks", err)
}
