package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var drifted = Notice{Namespace: "shop", LoadLine: "web", Kind: Drift, Severity: "info", Summary: "shop/web: drift", Detail: "cpu"}

func newNotifier(t *testing.T, o Options) *Notifier {
	t.Helper()
	o.Now = time.Now
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range n.receivers {
		r.retries = func(int) time.Duration { return time.Millisecond }
	}
	return n
}

// start a notifier until the end of the test.
func start(t *testing.T, n *Notifier) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// TestAlertmanager: a real one has the alert, and no longer when it is resolved.
func TestAlertmanager(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		if program, err = exec.LookPath("alertmanager"); err != nil {
			t.Skip("Alertmanager is not installed: apt-get install --no-install-recommends prometheus-alertmanager")
		}
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	config := filepath.Join(dir, "alertmanager.yml")
	if err := os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+config, "--storage.path="+dir, "--web.listen-address="+address,
		"--cluster.listen-address=")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	n := newNotifier(t, Options{Alertmanager: "http://" + address + "/"})
	start(t, n)
	alerts := func() (list []struct {
		Labels, Annotations map[string]string
		Status              struct{ State string }
	}, err error) {
		answer, err := http.Get("http://" + address + "/api/v2/alerts?active=true")
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		return list, json.NewDecoder(answer.Body).Decode(&list)
	}
	begun := drifted
	begun.At = time.Now()
	n.Send(begun) // it may not listen yet: it is tried again
	eventually(t, "the alert", func() error {
		list, err := alerts()
		if err == nil && (len(list) != 1 || list[0].Labels["alertname"] != "LoadlineDrift" || list[0].Labels["loadline"] != "web" ||
			list[0].Annotations["summary"] != drifted.Summary || list[0].Status.State != "active") {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	if len(n.receivers[0].unended()) != 1 {
		t.Error("the alert is not renewed")
	}
	over := drifted
	over.At, over.Resolved = time.Now(), true
	n.Send(over)
	eventually(t, "no alert", func() error {
		list, err := alerts()
		if err == nil && len(list) > 0 {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	if len(n.receivers[0].unended()) != 0 || n.Dropped() != 0 {
		t.Errorf("%d alerts are renewed, %d were dropped", len(n.receivers[0].unended()), n.Dropped())
	}
}

// eventually has no bound but that of the tests.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	for i := 0; ; i++ {
		err := f()
		if err == nil {
			return
		}
		if i%100 == 99 {
			t.Logf("waiting for %s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestWebhook: it is tried again after failures of the receiver, with the token of a file; what
// the receiver refuses for good is dropped; nothing secret is logged.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var got []Notice
	calls, codes := 0, []int{503, 429, 200, 400, 200}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var n Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil || r.Header.Get("Authorization") != "Bearer s3cret" || r.URL.Path != "/p4th" {
			t.Errorf("%v, %v, %s", err, r.Header, r.URL)
		}
		code := codes[calls]
		if calls++; code == 200 {
			got = append(got, n)
		}
		w.WriteHeader(code)
	}))
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	n := newNotifier(t, Options{Webhook: server.URL + "/p4th", WebhookToken: token,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	start(t, n)
	for _, kind := range []string{Rung, Burn, Promotion} { // the second is refused
		notice := drifted
		notice.Kind = kind
		n.Send(notice)
	}
	eventually(t, "two notices", func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(got) < 2 {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	if got[0].Kind != Rung || got[1].Kind != Promotion || n.Dropped() != 1 {
		t.Errorf("%+v arrived, %d were dropped", got, n.Dropped())
	}
	if text := log.String(); strings.Contains(text, "s3cret") || strings.Contains(text, "p4th") || !strings.Contains(text, "notice dropped") {
		t.Errorf("the log is %s", text)
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is what was written.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestSendNeverWaits: also while nothing is sent, and the queue is bounded.
func TestSendNeverWaits(t *testing.T) {
	n := newNotifier(t, Options{Webhook: "http://127.0.0.1:1", Alertmanager: "http://127.0.0.1:1"})
	for range 1000 {
		n.Send(drifted)
	}
	if want := int64(2 * (1000 - mostWaiting)); n.Dropped() != want {
		t.Errorf("%d were dropped, want %d", n.Dropped(), want)
	}
	(*Notifier)(nil).Send(drifted)
}

func TestBackOffGrowsToAMinute(t *testing.T) {
	for attempt, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := backOff(attempt); got != want {
			t.Errorf("attempt %d waits %v", attempt, got)
		}
	}
	if got := backOff(1000); got != time.Minute {
		t.Errorf("later ones wait %v", got)
	}
}

func TestAddressesAreChecked(t *testing.T) {
	for _, row := range []struct {
		o    Options
		want string
	}{
		{Options{Webhook: "alerts.example.com"}, "must be a URL"},
		{Options{Alertmanager: "ftp://x"}, "must be a URL"},
		{Options{Webhook: "https://me:pw@x"}, "has credentials"},
		{Options{WebhookToken: "file"}, "needs its address"},
	} {
		if err := row.o.Validate(); err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%+v: %v", row.o, err)
		}
	}
}
