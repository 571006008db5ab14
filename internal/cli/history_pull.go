package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// Secrets may also come from the environment.
const (
	tokenVariable    = "LOADLINE_PROMETHEUS_TOKEN"
	passwordVariable = "LOADLINE_PROMETHEUS_PASSWORD"
)

type historyPullFlags struct {
	server              prom.Server
	headers, variables  []string
	queues              []string
	pull                prom.Pull
	preset, queries     string
	until, out          string
	output              Format
	concurrency, points int
}

func newHistoryPull() *cobra.Command {
	var f historyPullFlags
	c := &cobra.Command{
		Use:   "pull --prometheus URL --namespace NS -o DIR",
		Short: "Pull the history of an application from Prometheus",
		Long: `Reads the metrics of the services in a namespace, and of the calls between them, from
Prometheus (or Thanos, Mimir, VictoriaMetrics) and writes them to a folder as a
history.

The queries are those of a preset: ` + strings.Join(prom.Presets(), ", ") + `.
Without --preset, the first one that has results is used and printed. loadline
history presets lists them; --queries takes a file of your own.

A metric that the server does not have is absent in the history, which is not the
same as zero; the report names it, with the likely reason and the consequence.

Each day is written as a whole. If it is interrupted or killed, the same command
resumes with the next day and keeps the end time of the first start.

Secrets come from files, or from the variables ` + tokenVariable + `
and ` + passwordVariable + `; they are never written.`,
		Example: `  # Two weeks of an Istio namespace, through a forwarded port
  kubectl -n monitoring port-forward svc/prometheus 9090 &
  loadline history pull --prometheus http://localhost:9090 --namespace shop --since 14d -o past

  # From Mimir, as a tenant, with a token
  loadline history pull --prometheus https://mimir.example.com/prometheus --namespace shop \
      --header X-Scope-OrgID=team-a --token-file token -o past

  # With your own queries, started from a preset
  loadline history presets istio > mine.yaml
  loadline history pull --prometheus http://localhost:9090 --namespace shop --queries mine.yaml -o past`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.server.URL, "prometheus", "", "base URL of the server, without /api/v1")
	flags.StringVar(&f.pull.Namespace, "namespace", "", "the application's Kubernetes namespace")
	OutVar(flags, &f.out, "folder to write the history to")
	spanVar(flags, &f.pull.Since, "since", 14*24*time.Hour, "how far back, such as 36h or 14d")
	flags.StringVar(&f.until, "until", "", "the end, such as 2026-03-01T00:00:00Z or 2026-03-01; default: now")
	spanVar(flags, &f.pull.Step, "step", 15*time.Second, "between two values")
	flags.StringVar(&f.preset, "preset", "", "one of "+strings.Join(prom.Presets(), ", ")+"; default: the one that has results")
	flags.StringVar(&f.queries, "queries", "", "a file of your own queries instead of a preset (see history presets)")
	flags.StringArrayVar(&f.variables, "var", nil, "NAME=VALUE of a variable of the preset; repeatable")
	flags.StringArrayVar(&f.queues, "queue", nil,
		"SERVICE=KIND:NAME, the queue that a service takes its work from: mailer=kafka:mails,group=mailer, "+
			"mailer=rabbitmq:mails or mailer=sqs:mails; repeatable")
	spanVar(flags, &f.pull.Scrape, "scrape", 0, "how often the server scrapes; default: as its series show")
	flags.IntVar(&f.concurrency, "concurrency", prom.DefaultAtOnce, "queries at once")
	flags.IntVar(&f.points, "max-points", 0, "points of a series that one query asks for; default: 11000, Prometheus' own limit")
	spanVar(flags, &f.server.Timeout, "timeout", 2*time.Minute, "of one query")
	f.addAccess(flags)
	f.output.Add(flags)
	return c
}

// addAccess adds the authentication flags.
func (f *historyPullFlags) addAccess(flags *pflag.FlagSet) {
	s := &f.server
	flags.StringVar(&s.TokenFile, "token-file", "", "file with a bearer token; read again at every query")
	flags.StringVar(&s.Username, "user", "", "user for basic authentication")
	flags.StringVar(&s.PasswordFile, "password-file", "", "file with the user's password")
	flags.StringArrayVar(&f.headers, "header", nil, "NAME=VALUE to send with every query, such as X-Scope-OrgID=team-a; repeatable")
	flags.StringVar(&s.CAFile, "ca-file", "", "certificate authority of the server")
	flags.StringVar(&s.CertFile, "cert-file", "", "client certificate")
	flags.StringVar(&s.KeyFile, "key-file", "", "key of the client certificate")
	flags.StringVar(&s.ServerName, "server-name", "", "name in the server's certificate, if it is not the host")
	flags.BoolVar(&s.Insecure, "insecure", false, "do not check the server's certificate")
}

// connect to the server that the flags name, for a few short queries.
func (f *historyPullFlags) connect(timeout time.Duration) (*prom.Client, error) {
	headers, err := pairs("header", f.headers)
	if err != nil {
		return nil, UsageError(err)
	}
	s := f.server
	s.Headers, s.Attempts, s.Timeout = headers, 2, timeout
	if s.Username == "" {
		s.Token = os.Getenv(tokenVariable)
	} else {
		s.Password = os.Getenv(passwordVariable)
	}
	c, err := prom.NewClient(s)
	if err != nil {
		return nil, UsageError(err)
	}
	return c, nil
}

func (f *historyPullFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	p, err := f.plan()
	if err != nil {
		return err
	}
	bar := NewProgress(stderr, "pulling "+p.Namespace)
	begun := false
	p.Progress = func(share float64) {
		if !begun { // the progress of an earlier pull does not count as speed
			begun, bar.from = true, share
		}
		bar.At(share)
	}
	p.Say = func(text string) { fmt.Fprintln(stderr, text) }
	report, err := p.Run(ctx)
	bar.Done()
	if err != nil {
		return err
	}
	if f.output.Structured() {
		return f.output.Encode(stdout, report)
	}
	return writePulled(stdout, f.out, report)
}

// plan turns flags into a pull, and reports all faults before any query.
func (f *historyPullFlags) plan() (*prom.Pull, error) {
	p := f.pull
	p.Dir, p.Now, p.By = f.out, time.Now(), "loadline "+version
	var faults []error
	usage := func(err error) {
		if err != nil {
			faults = append(faults, UsageError(err))
		}
	}
	if f.out == "" {
		usage(errors.New("--out is missing: the folder to write the history to"))
	}
	if f.concurrency < 1 || f.concurrency > 64 {
		usage(fmt.Errorf("--concurrency %d must be from 1 to 64", f.concurrency))
	}
	if f.points < 0 || f.points > 11000 {
		usage(fmt.Errorf("--max-points %d must be from 1 to 11000", f.points))
	}
	var err error
	p.Until, err = parseUntil(f.until)
	usage(err)
	p.Variables, err = pairs("var", f.variables)
	usage(err)
	f.server.Headers, err = pairs("header", f.headers)
	usage(err)
	for _, text := range f.queues {
		q, err := prom.ParseQueue(text)
		if err != nil {
			usage(fmt.Errorf("--queue: %w", err))
			continue
		}
		p.Queues = append(p.Queues, q)
	}
	p.Preset, err = f.loadPreset()
	faults = append(faults, err)
	usage(p.Validate())
	f.server.AtOnce = f.concurrency
	if f.server.Token = os.Getenv(tokenVariable); f.server.Username != "" {
		f.server.Token = "" // a user was given
		f.server.Password = os.Getenv(passwordVariable)
	}
	p.Client, err = prom.NewClient(f.server)
	usage(err)
	if p.Client != nil && f.points > 0 {
		p.Client.MaxPoints = f.points
	}
	return &p, errors.Join(faults...)
}

func (f *historyPullFlags) loadPreset() (*prom.Preset, error) {
	switch {
	case f.preset != "" && f.queries != "":
		return nil, Usagef("--preset and --queries exclude each other")
	case f.preset != "":
		return f.named(f.preset)
	case f.queries != "":
		text, err := os.ReadFile(f.queries)
		if err != nil {
			return nil, err
		}
		return prom.Parse(f.queries, text)
	}
	return nil, nil
}

// named is a preset; nil = none is named.
func (*historyPullFlags) named(name string) (*prom.Preset, error) {
	if name == "" {
		return nil, nil
	}
	p, err := prom.Load(name)
	if err != nil {
		return nil, UsageError(err)
	}
	return p, nil
}

func parseUntil(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--until %q must be a time such as 2026-03-01T00:00:00Z, or a date", text)
}

// pairs reads NAME=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	found := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			// The value is not repeated: it may be a secret.
			return nil, fmt.Errorf("--%s must be NAME=VALUE", flag)
		}
		found[name] = value
	}
	return found, nil
}

func writePulled(out io.Writer, dir string, r *prom.Report) error {
	var b strings.Builder
	m := &r.Manifest
	fmt.Fprintf(&b, "%s: %s and %s of namespace %s, %d steps of %v from %s to %s (preset %s)\n", dir,
		count(len(r.Services), "service", "services"), count(r.Calls, "kind of calls", "kinds of calls"), m.Namespace,
		m.Steps, m.Step, m.Start.Format(time.DateTime), m.At(m.Steps-1).Format(time.DateTime), m.Preset)
	if r.Kept > 0 {
		fmt.Fprintf(&b, "%d of %s had been pulled before\n", r.Kept, count(r.Parts, "part", "parts"))
	}
	for _, a := range m.Absent {
		fmt.Fprintf(&b, "absent: %s %s: %s", a.Of, a.Metric, a.Reason)
		if a.Cost != "" {
			fmt.Fprintf(&b, "; consequence: %s", a.Cost)
		}
		b.WriteByte('\n')
	}
	for _, n := range m.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "Look at it with loadline history show %s\n", dir)
	_, err := io.WriteString(out, b.String())
	return err
}
