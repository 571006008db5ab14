package cli

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// sharedLease is a lease in memory; memoryLock is one process's lock on it.
type sharedLease struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	fail   error // of every request
	writes int
}

type memoryLock struct {
	*sharedLease
	identity string
}

func (m memoryLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, nil, m.fail
	}
	if m.record == nil {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, leaseName)
	}
	is := *m.record
	raw, err := json.Marshal(is)
	return &is, raw, err
}

func (m memoryLock) Create(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return m.put(r)
}
func (m memoryLock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return m.put(r)
}

func (m memoryLock) put(r resourcelock.LeaderElectionRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.record = &r
	m.writes++
	return nil
}

func (m memoryLock) RecordEvent(string) {}
func (m memoryLock) Identity() string   { return m.identity }
func (m memoryLock) Describe() string   { return "loadline-system/loadline.dev" }

// now returns the holder and the number of writes so far.
func (s *sharedLease) now() (holder string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record != nil {
		holder = s.record.HolderIdentity
	}
	return holder, s.writes
}

// heldBy is a lease that another process has just renewed.
func heldBy(holder string) *sharedLease {
	now := metav1.Now()
	return &sharedLease{record: &resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15, AcquireTime: now,
		RenewTime: now}}
}

func TestOnceHoldsTheLease(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, leaseName, errors.New("no"))
	for _, row := range []struct {
		name  string
		lease func() *sharedLease
		wait  time.Duration
		runs  bool
		want  []string // in the error
	}{
		{"a lease that does not exist is created", func() *sharedLease { return &sharedLease{} }, time.Second, true, nil},
		{"a lease that was released", func() *sharedLease { return heldBy("") }, 30 * time.Second, true, nil},
		{"the holder was killed, and the lease expires", func() *sharedLease { return heldBy("pod-1") }, 30 * time.Second, true, nil},
		{"another process holds it", func() *sharedLease { return heldBy("pod-1") }, 10 * time.Second, false,
			[]string{"pod-1 holds the lease loadline-system/loadline.dev", "10s", "stop that controller", "--dry-run"}},
		{"it may not be read", func() *sharedLease { return &sharedLease{fail: forbidden} }, time.Second, false,
			[]string{"leader-election.yaml", "--dry-run"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lease, ran := row.lease(), false
				err := withLease(t.Context(), memoryLock{lease, "us"}, row.wait, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
					ran = true
					_, before := lease.now()
					time.Sleep(time.Minute) // four times as long as the lease
					if holder, writes := lease.now(); ctx.Err() != nil || writes < before+20 || holder != "us" {
						t.Errorf("after a minute: %v, %d renewals, held by %q", ctx.Err(), writes-before, holder)
					}
					return nil
				})
				if ran != row.runs || (err == nil) != row.runs {
					t.Fatalf("ran: %v, error %v", ran, err)
				}
				for _, part := range row.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in %q", part, err)
					}
				}
				if holder, _ := lease.now(); ran && holder != "" {
					t.Errorf("not released by %s", holder)
				}
			})
		})
	}
}

func TestOnceStopsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lease := &sharedLease{}
		err := withLease(t.Context(), memoryLock{lease, "us"}, time.Second, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			lease.mu.Lock()
			lease.fail = errors.New("the API server does not answer")
			lease.mu.Unlock()
			<-ctx.Done()
			return ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), "was lost meanwhile") {
			t.Errorf("got %v", err)
		}
	})
}

// The timeout of the lease's requests is for them alone: with it, every watch of the controller
// would end after five seconds and begin again.
func TestTheLeaseLeavesTheConfigurationAsItIs(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1:6443", UserAgent: "loadline"}
	if _, err := (&liveFlags{}).newLock(config); err != nil {
		t.Fatal(err)
	}
	if config.Timeout != 0 || config.UserAgent != "loadline" {
		t.Errorf("timeout %v and user agent %q, want none and %q", config.Timeout, config.UserAgent, "loadline")
	}
}

// TestWatchesHaveNoTimeout: the requests of the cache do not ask the API server to end them.
func TestWatchesHaveNoTimeout(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Query().Get("timeout"):
		default:
		}
		http.Error(w, "not served", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, Timeout: requestTimeout}
	scheme, err := clusterScheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := newCache(config, cache.Options{Scheme: scheme, Mapper: mapper, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := pods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = pods.Start(ctx) }()
	if timeout := <-asked; timeout != "" {
		t.Errorf("the API server was asked to end a request after %s", timeout)
	}
}
