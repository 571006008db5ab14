package prom

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hostile servers, and what is said of each.
func hostile(t *testing.T) map[string]struct {
	serve http.HandlerFunc
	want  string
} {
	t.Helper()
	const begin = `{"status":"success","data":{"resultType":"vector","result":[`
	chunk := strings.Repeat("x", 1<<20)
	forever := func(w http.ResponseWriter, r *http.Request, first, text string) {
		_, err := io.WriteString(w, first)
		for err == nil && r.Context().Err() == nil {
			_, err = io.WriteString(w, text)
		}
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 64 {
		if _, err := io.WriteString(z, chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	series := strings.Repeat(`{"metric":{"pod":"a"},"value":[1,"1"]},`, 1000)
	return map[string]struct {
		serve http.HandlerFunc
		want  string
	}{
		"an endless answer": {func(w http.ResponseWriter, r *http.Request) { forever(w, r, begin, series) }, "too large"},
		"an endless label": {func(w http.ResponseWriter, r *http.Request) {
			forever(w, r, begin+`{"metric":{"pod":"`, chunk)
		}, "longer than"},
		"an endless number of labels": {func(w http.ResponseWriter, r *http.Request) {
			forever(w, r, begin+`{"metric":{"pod":"a"`, strings.Repeat(`,"a":"b"`, 1000))
		}, "labels"},
		"large labels without end": {func(w http.ResponseWriter, r *http.Request) {
			forever(w, r, begin+`{"metric":{"pod":"a"`, `,"a":"`+chunk[:100<<10]+`"`)
		}, "a series has more than"},
		"endless white space": {func(w http.ResponseWriter, r *http.Request) {
			forever(w, r, "", strings.Repeat(" ", 1<<16))
		}, "too large"},
		"an endless error": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			forever(w, r, "", chunk)
		}, "answers 400"},
		"large headers": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 64 {
				w.Header().Add("X-Large", chunk[:8<<10]+string(rune('a'+i%26)))
			}
		}, "cannot be reached"},
		"a gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, "does not answer as Prometheus does"},
	}
}

// TestHostileServersTakeLittleMemory: of whatever a server sends, a request takes a few megabytes, also
// where an answer is decoded as a whole.
func TestHostileServersTakeLittleMemory(t *testing.T) {
	for name, row := range hostile(t) {
		server := httptest.NewServer(row.serve)
		c := client(t, Server{URL: server.URL, Attempts: 1, Unquoted: true})
		budget := NewBudget(DefaultBudget)
		c.Share(budget)
		for how, ask := range map[string]func() error{
			"streamed": func() error { return c.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {}) },
			"decoded as a whole": func() error {
				_, err := c.Query(t.Context(), "up", time.Unix(1, 0))
				return err
			},
			"label values": func() error {
				_, err := c.LabelValues(t.Context(), "up", time.Unix(1, 0), time.Unix(2, 0))
				return err
			},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := ask()
			runtime.ReadMemStats(&after)
			if err == nil || how == "streamed" && !strings.Contains(err.Error(), row.want) &&
				!strings.Contains(err.Error(), "not shown") {
				t.Errorf("%s, %s: %v, want %q", name, how, err, row.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("%s, %s: %d MB were allocated", name, how, used>>20)
			}
		}
		if free := budget.Free(); free != DefaultBudget {
			t.Errorf("%s: %d bytes are still taken", name, DefaultBudget-free)
		}
		server.CloseClientConnections()
		server.Close()
	}
}

// TestSlowAnswersAreBoundedForAll: clients of one process share a budget; what does not fit waits for its
// turn, at most for its own deadline, and says so.
func TestSlowAnswersAreBoundedForAll(t *testing.T) {
	arrived := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		w.(http.Flusher).Flush()
		arrived <- struct{}{}
		<-r.Context().Done() // a trickle that never ends
	}))
	defer server.Close()
	budget := NewBudget(16 << 20)
	ask := func(ctx context.Context) error {
		c := client(t, Server{URL: server.URL, Attempts: 1})
		c.Share(budget)
		return c.Each(ctx, "up", time.Unix(1, 0), func() {}, func(*Series) {})
	}
	slow, end := context.WithCancel(t.Context())
	ended := make(chan error, 16)
	for range 16 {
		go func() { ended <- ask(slow) }()
		<-arrived
	}
	if budget.Free() != 0 {
		t.Fatalf("%d bytes are free", budget.Free())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := ask(ctx); !errors.Is(err, ErrBudget) || !strings.Contains(err.Error(), "all LoadLines of this process") {
		t.Errorf("%v", err)
	}
	if len(arrived) > 0 {
		t.Error("a request was sent beyond the budget")
	}
	end()
	for range 16 {
		<-ended
	}
	if budget.Free() != 16<<20 {
		t.Errorf("%d bytes are free at the end", budget.Free())
	}
}

// TestBudgetInOrder: requests get their turn in the order in which they came, and one that gives up does
// not block those behind it.
func TestBudgetInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(4 * bufferedCharge)
		if err := b.acquire(t.Context(), b.total-1); err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 3 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				if i == 1 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				}
				defer cancel()
				if b.acquire(ctx, 2) == nil {
					order = append(order, i)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		if len(order) > 0 || b.take(2) {
			t.Fatalf("%v were admitted", order)
		}
		b.release(1) // of the first
		synctest.Wait()
		if len(order) != 1 || order[0] != 0 {
			t.Fatalf("%v were admitted", order)
		}
		b.release(b.total - 2)
		synctest.Wait()
		if len(order) != 2 || order[1] != 2 || b.free != b.total-4 {
			t.Errorf("%v, %d free of %d", order, b.free, b.total)
		}
	})
}
