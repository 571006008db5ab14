package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/internal/sandbox"
	"github.com/loadline/loadline/internal/sandbox/serve"
	"github.com/loadline/loadline/internal/workload"
)

type sandboxFlags struct {
	settings       sandbox.Settings
	addr           string
	static, engine string
}

func newSandbox() *cobra.Command {
	var f sandboxFlags
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Watch a rule and Loadline side by side on a simulated cluster, in a browser",
		Long: `Serves a page with two simulated clusters in accelerated time: the same application, load,
seed and faults; one scaled by a rule, HPA at 80 % unless --rule says otherwise, one by
Loadline's planner behind its guards, as a LoadLine without settings runs it. Nodes come and
go as pods need them, and each side has a bill. Nothing but this program is needed: no
cluster, no Prometheus, no network.

In the page: drag the load, choose its pattern, stop Prometheus, lose a node, wake a
neighbour that wants 85 % of every node, ship a version that needs twice the CPU, and undo it
all. Every decision is listed with its reason. The same seed and the same commands at the
same simulated times give the same clusters.

The page is served to this machine only: --addr must be a loopback address.

Load patterns:
` + patternHelp() + `
--load also takes generators and files, as workload show does; a file is repeated at its end.

--static DIR writes the page as a folder for any web server instead: the engine then runs in
the visitor's browser, as WebAssembly, which make sandbox builds (docs/sandbox.md).`,
		Example: `  # Online Boutique with a day in half an hour, a simulated minute in a second
  loadline sandbox

  # Bursts, four times as fast, against HPA with another target
  loadline sandbox --load bursts --speed 240 --rule hpa:target=60

  # Your own application and load
  loadline sandbox --app shop.yaml --load rates.csv

  # A folder for a project's web site
  loadline sandbox --static public/sandbox --engine out/wasm`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.settings.App, "app", sandbox.DefaultApp, "an embedded application (see apps) or a model file")
	flags.StringVar(&f.settings.Load, "load", sandbox.DefaultLoad, "a pattern, generators or a file of rates, in requests per second")
	flags.StringVar(&f.settings.Rule, "rule", sandbox.DefaultRule, "what scales the first side: name[:key=value,...] (see simulate)")
	flags.IntVar(&f.settings.Speed, "speed", sandbox.DefaultSpeed, "simulated seconds in a second at the start; less on a slow machine")
	flags.Uint64Var(&f.settings.Seed, "seed", 1, "seed of all random numbers")
	flags.StringVar(&f.addr, "addr", "127.0.0.1:8099", "loopback address to serve the page on; port 0 = any free one")
	flags.StringVar(&f.static, "static", "", "write the page and the engine to this folder instead of serving them")
	flags.StringVar(&f.engine, "engine", "", "folder of the engine for browsers, for --static; default: wasm beside this program")
	return c
}

func patternHelp() string {
	var b strings.Builder
	for _, p := range sandbox.Patterns() {
		fmt.Fprintf(&b, "  %-8s %s\n", p.Name, p.About)
	}
	return b.String()
}

func (f *sandboxFlags) run(ctx context.Context, stdout io.Writer) error {
	if err := f.read(); err != nil {
		return err
	}
	if f.static != "" {
		return f.write(stdout)
	}
	return f.serve(ctx, stdout)
}

// read takes files into the settings, and checks them all.
func (f *sandboxFlags) read() error {
	s := &f.settings
	var faults []error
	if f.engine != "" && f.static == "" {
		faults = append(faults, Usagef("--engine is for --static: the page that is served uses this program"))
	}
	if s.Seed == 0 {
		faults = append(faults, Usagef("--seed 0: must be at least 1"))
	}
	if s.Speed < 1 {
		faults = append(faults, Usagef("--speed %d: must be from 1 to %d", s.Speed, sandbox.MaxSpeed))
	}
	if err := checkLoopback(f.addr); err != nil {
		faults = append(faults, err)
	}
	if !slices.Contains(apps.Names(), s.App) {
		if _, err := apps.Load(s.App); err != nil {
			faults = append(faults, UsageError(err))
		} else if text, err := os.ReadFile(s.App); err != nil {
			faults = append(faults, err)
		} else {
			s.Model = string(text)
		}
	}
	if _, err := os.Stat(s.Load); err == nil {
		w, _, err := workload.ReadFile(s.Load, workload.Options{})
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		s.Rates = &sandbox.Rates{StepSeconds: w.Step.Seconds(), PerSecond: w.Rates}
		s.Load = filepath.Base(s.Load)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return UsageError(err)
	}
	return nil
}

// checkLoopback checks the address of a page that is for this machine only.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return Usagef("--addr %q: must be HOST:PORT: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return Usagef("--addr %s: must be a loopback address such as 127.0.0.1:8099: the page is for this machine only", addr)
	}
	return nil
}

func (f *sandboxFlags) write(stdout io.Writer) error {
	dir := f.engine
	if dir == "" {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the engine beside this program: %w", err)
		}
		dir = filepath.Join(filepath.Dir(program), "wasm")
	}
	if err := serve.WriteFolder(f.static, f.settings, dir); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "wrote the sandbox to %s: serve that folder, and open its index.html\n", f.static)
	return nil
}

func (f *sandboxFlags) serve(ctx context.Context, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return fmt.Errorf("--addr: %w; choose another port, or 0 for any", err)
	}
	handler := serve.NewHandler(f.settings)
	defer handler.Close()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	fmt.Fprintf(stdout, "the sandbox is at http://%s: open it in a browser; Ctrl+C ends it\n", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the sandbox: %w", err)
	case <-ctx.Done():
	}
	// A page that waits for an answer does not keep the program from ending.
	return errors.Join(server.Close(), ignoreClosed(<-ended))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
