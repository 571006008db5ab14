package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
)

type uiFlags struct {
	clusterFlags
	system, console, consoleCA, tokenFile string
	addr                                  string
	open                                  bool
}

func newUI() *cobra.Command {
	var f uiFlags
	c := &cobra.Command{
		Use:   "ui",
		Short: "Serve the page of the console on this machine, with your own permissions",
		Long: `Serves a page that shows every application that you may read: objectives and error budget,
money, the call graph, the last hours, each decision with its reasons, and the models.

The page asks this program, and this program asks the console of the controller, through the
API server with your kubeconfig (or --console URL). Your own permissions apply. The page is
served to this machine only, at an address with a key that is made for this run: only who has
the address can use it. The page changes nothing; it shows the commands that do.

The console needs a token. With a kubeconfig that has a client certificate only, --token-file
names a file with one, such as "kubectl create token NAME" prints.`,
		Example: `  loadline ui
  loadline ui --open
  loadline ui --console https://localhost:9443 --console-ca ca.crt`,
		Args: Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout())
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	f.clusterFlags.add(flags)
	flags.StringVar(&f.tokenFile, "token-file", "", "file with a token of the cluster (default: what the kubeconfig has)")
	flags.StringVar(&f.system, "system-namespace", "loadline-system", "namespace of the controller")
	flags.StringVar(&f.console, "console", "", "address of the console, such as https://localhost:9443 (default: through the API server)")
	flags.StringVar(&f.consoleCA, "console-ca", "", "with --console: file with the CA of its certificate (default: those of the system)")
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "loopback address to serve the page on; port 0 = any free one")
	flags.BoolVar(&f.open, "open", false, "open the page in the browser")
	return c
}

func (f *uiFlags) run(ctx context.Context, stdout io.Writer) error {
	if err := checkLoopback(f.addr); err != nil {
		return err
	}
	if f.consoleCA != "" && f.console == "" {
		return Usagef("--console-ca needs --console")
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	if f.tokenFile != "" {
		if config, err = withToken(config, f.tokenFile); err != nil {
			return err
		}
	}
	asked, err := newConsoleClient(config, f.system, f.console, f.consoleCA)
	if err != nil {
		return err
	}
	key, err := runKey()
	if err != nil {
		return err
	}
	handler, err := newUIHandler(asked, key)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return fmt.Errorf("--addr: %w; choose another port, or 0 for any", err)
	}
	address := fmt.Sprintf("http://%s/#key=%s", listener.Addr(), key)
	fmt.Fprintf(stdout, "the page is at %s\nIt works with your permissions: keep the address to yourself. Ctrl+C ends it.\n", address)
	if f.open {
		forget, err := openPage(ctx, address)
		if err != nil {
			fmt.Fprintf(stdout, "The browser was not opened: %v\n", err)
		}
		defer forget()
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	// A stream that is open does not keep the program from ending.
	return errors.Join(server.Close(), ignoreClosed(<-ended))
}

// withToken authenticates by the token in a file only.
func withToken(c *rest.Config, path string) (*rest.Config, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	token := rest.AnonymousClientConfig(c)
	token.BearerTokenFile = path
	return token, nil
}

// runKey is what the page shows this program, made for this run.
func runKey() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// openPage opens an address in the browser by a file that only the user can read: the arguments of a
// program are visible to all users of the machine. The result removes the file.
func openPage(ctx context.Context, address string) (forget func(), err error) {
	dir, err := os.MkdirTemp("", "loadline-ui-")
	if err != nil {
		return func() {}, err
	}
	forget = func() { _ = os.RemoveAll(dir) }
	path := filepath.Join(dir, "open.html")
	text := fmt.Sprintf("<!doctype html><meta charset=\"utf-8\"><title>Loadline</title>"+
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">", address)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return forget, err
	}
	program, args := "xdg-open", []string{path}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", path}
	}
	return forget, exec.CommandContext(ctx, program, args...).Start()
}
