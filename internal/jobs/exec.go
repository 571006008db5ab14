package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// programIn is the program in any container of ours: the first process.
const programIn = "/proc/1/exe"

// exec runs the program in a pod with other arguments.
func (d *driver) exec(ctx context.Context, pod string, args []string, in io.Reader, out io.Writer) error {
	query := url.Values{"container": {containerName}, "stderr": {"true"}, "command": append([]string{programIn}, args...)}
	if in != nil {
		query.Set("stdin", "true")
	}
	if out != nil {
		query.Set("stdout", "true")
	}
	at, err := d.podURL(pod, "exec", query)
	if err != nil {
		return err
	}
	executor, err := remotecommand.NewWebSocketExecutor(d.Config, http.MethodGet, at)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: &said})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s in pod %s: %w", strings.Join(args[:2], " "), pod, errors.Join(err, saidError(said.String())))
	}
	return err
}

func saidError(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return errors.New(text)
}

// lastLine that a pod's program has written; empty if it cannot be read.
func (d *driver) lastLine(ctx context.Context, pod string) string {
	at, err := d.podURL(pod, "log", url.Values{"container": {containerName}, "tailLines": {"1"}, "limitBytes": {"4096"}})
	if err != nil {
		return ""
	}
	c, err := rest.HTTPClientFor(d.Config)
	if err != nil {
		return ""
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return ""
	}
	response, err := c.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (d *driver) podURL(pod, sub string, query url.Values) (string, error) {
	server, _, err := rest.DefaultServerUrlFor(d.Config)
	if err != nil {
		return "", err
	}
	at := server.JoinPath("api/v1/namespaces", d.Namespace, "pods", pod, sub)
	at.RawQuery = query.Encode()
	return at.String(), nil
}
