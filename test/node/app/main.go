// Command app is one replica of a service of an application model, for real: it burns CPU, holds
// memory, waits and calls other services. See lab/realapp.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loadline/loadline/internal/apps"
	"github.com/loadline/loadline/lab/realapp"
)

// drain is how long a replica that is told to end still answers: endpoints take a moment to forget it.
const drain = 2 * time.Second

// version of the image, which the linker sets.
var version = "development"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println("app", version)
		return
	}
	if err := realapp.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("app", flag.ContinueOnError)
	model := flags.String("app", "", "name or file of the application model")
	service := flags.String("service", "", "the service to play")
	seed := flags.Uint64("seed", 1, "seed; each replica adds its process")
	listen := flags.String("listen", net.JoinHostPort("", strconv.Itoa(realapp.Port)), "address to listen on")
	callees := flags.String("callees", "", "addresses of other services, NAME=HOST:PORT with commas between them (default: NAME:8080)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, err := apps.Load(*model)
	if err != nil {
		return err
	}
	settings := realapp.Settings{App: m.App, Service: *service, Seed: *seed ^ uint64(time.Now().UnixNano())}
	if *callees != "" {
		known := map[string]string{}
		for pair := range strings.SplitSeq(*callees, ",") {
			name, address, found := strings.Cut(pair, "=")
			if !found {
				return fmt.Errorf("--callees %q: %q is not NAME=HOST:PORT", *callees, pair)
			}
			known[name] = address
		}
		settings.Callee = func(service string) string { return known[service] }
	}
	server, err := realapp.New(settings)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	web := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(listener) }()
	go func() {
		if err := server.Start(ctx); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	time.Sleep(drain)
	ending, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := web.Shutdown(ending); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
