package measure

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline/loadline/lab/burn"
)

// serverSettings are sent to a server process once it is in its cgroup.
type serverSettings struct {
	Workers int `json:"workers"`
}

// Serve is the server process: it reads its settings from in, writes its address to out and
// serves until in is closed, which happens at the latest when its parent ends. Each request
// burns the CPU time that it asks for.
func Serve(in io.Reader, out io.Writer) error {
	if err := burn.Prepare(); err != nil {
		return err
	}
	return serve(in, out)
}

func serve(in io.Reader, out io.Writer) error {
	reader := bufio.NewReader(in)
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the settings of the server: %w", err)
	}
	var settings serverSettings
	if err := json.Unmarshal(line, &settings); err != nil {
		return fmt.Errorf("read the settings of the server: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: burner(settings.Workers), ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return err
	}
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, reader)
		close(closed)
	}()
	select {
	case err := <-failed:
		return err
	case <-closed:
		return server.Close()
	}
}

func burner(workers int) http.Handler {
	var free chan struct{}
	if workers > 0 {
		free = make(chan struct{}, workers)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ns, err := strconv.ParseInt(r.URL.Query().Get("ns"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if free != nil {
			free <- struct{}{}
			defer func() { <-free }()
		}
		burn.CPU(time.Duration(ns), nil)
	})
}

// sleepUntil sleeps more exactly than the Go runtime, which rounds to milliseconds.
func sleepUntil(due time.Time) {
	for {
		left := time.Until(due)
		if left <= 0 {
			return
		}
		t := unix.NsecToTimespec(left.Nanoseconds())
		if err := unix.Nanosleep(&t, nil); err == nil || err != unix.EINTR {
			return
		}
	}
}
