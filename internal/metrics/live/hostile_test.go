package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline/internal/metrics/prom"
)

// TestAnswersOfOneApplicationAreBounded: series of ours with operations that are large and all different
// would each be kept. They are refused at a quarter of the process's budget, with the reason, and nothing
// stays taken.
func TestAnswersOfOneApplicationAreBounded(t *testing.T) {
	large := strings.Repeat("x", 100<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.FormValue("query"), "service, path)") {
			_, body := vector(row(`"exported_service":"web","workload":"web","pod":"web-0","le":"+Inf"`, "990"))
			_, _ = io.WriteString(w, body)
			return
		}
		_, err := io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		for i := 0; err == nil && r.Context().Err() == nil; i++ {
			_, err = fmt.Fprintf(w, `{"metric":{"exported_service":"web","path":"%d%s","le":"1"},"value":[1,"1"]},`, i, large)
		}
	}))
	defer server.Close()
	preset, err := prom.Load("nginx-ingress")
	if err != nil {
		t.Fatal(err)
	}
	client, err := prom.NewClient(prom.Server{URL: server.URL, Attempts: 1, Unquoted: true})
	if err != nil {
		t.Fatal(err)
	}
	budget := prom.NewBudget(32 << 20)
	client.Share(budget)
	s, err := New(client, Options{App: application("web"), Namespace: "shop", Preset: preset, Scrape: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.settle(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	a, err := s.ask(t.Context(), at, names{"web-0": "web-0"})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 48<<20 {
		t.Errorf("the heap grew by %d MB", kept>>20)
	}
	refused := 0
	for i := range a.list {
		switch large, err := strings.Contains(a.questions[i].text, "service, path)"), a.list[i].err; {
		case large && errors.Is(err, prom.ErrBudget) && strings.Contains(err.Error(), "take more than 8 MB") && a.list[i].kept == 0:
			refused++
		case large, err != nil:
			t.Errorf("%s: %v", a.questions[i].text, err)
		}
	}
	if refused == 0 {
		t.Error("no answer was refused")
	}
	a.memory.Release()
	if budget.Free() != 32<<20 {
		t.Errorf("%d bytes are still taken", 32<<20-budget.Free())
	}
}
