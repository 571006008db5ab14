package chaos

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// server stands for the API server: it answers writes of replicas with a new version.
func server(t *testing.T) (*rest.Config, *[]string) {
	t.Helper()
	var seen []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"%d"}}`, 100+len(seen))
	}))
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, BearerToken: "loadline", TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, &seen
}

func send(t *testing.T, method, url, body string) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return answer.StatusCode, nil
}

const scaleOfWeb = "/apis/apps/v1/namespaces/shop/deployments/web/scale"

func TestTheProxyNotesWrites(t *testing.T) {
	to, seen := server(t)
	p, err := NewProxy("a#1", to)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before := time.Now()
	if code, err := send(t, http.MethodPatch, p.URL+scaleOfWeb, `{"spec":{"replicas":3}}`); code != 200 || err != nil {
		t.Fatalf("answer %d, %v", code, err)
	}
	lease := "/apis/coordination.k8s.io/v1/namespaces/shop/leases/loadline.dev"
	if code, err := send(t, http.MethodPut, p.URL+lease,
		`{"spec":{"holderIdentity":"host-1_01234567-89ab-cdef-0123-456789abcdef"}}`); code != 200 || err != nil {
		t.Fatalf("answer %d, %v", code, err)
	}
	w := p.Writes()
	if len(w) != 1 || w[0].Replicas != 3 || w[0].App != "shop" || w[0].Service != "web" || w[0].Process != "a#1" || w[0].Version != "101" ||
		!w[0].stored() || w[0].Received.Before(before) {
		t.Errorf("noted %+v", w)
	}
	if !p.Holds("host-1_01234567-89ab-cdef-0123-456789abcdef") || p.Holds("host-2") {
		t.Error("the holder of the lease was not noted")
	}
	if !strings.HasPrefix((*seen)[0], "PATCH "+scaleOfWeb+" Bearer loadline {") {
		t.Errorf("forwarded %q", (*seen)[0])
	}
}

func TestTheProxyRefusesAndLosesAnswers(t *testing.T) {
	to, seen := server(t)
	p, err := NewProxy("a#1", to)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const status = "/apis/loadline.dev/v1alpha1/namespaces/shop/loadlines/shop/status"
	p.Set(proxyFault{refuse: 409})
	if code, err := send(t, http.MethodPatch, p.URL+status, "{}"); code != 409 || err != nil || len(*seen) != 0 {
		t.Errorf("answer %d, %v, and %q was forwarded", code, err, *seen)
	}
	if code, err := send(t, http.MethodPatch, p.URL+status, "{}"); code != 200 || err != nil {
		t.Errorf("the second answer is %d, %v", code, err)
	}
	p.Set(proxyFault{lose: true})
	if code, err := send(t, http.MethodPatch, p.URL+scaleOfWeb, `{"spec":{"replicas":3}}`); err == nil {
		t.Errorf("answer %d, want none", code)
	}
	if w := p.Writes(); len(w) != 1 || !w[0].stored() {
		t.Errorf("the write of which the answer was lost is noted as %+v", w)
	}
	p.Set(proxyFault{})
	if code, err := send(t, http.MethodGet, p.URL+scaleOfWeb, ""); code != 200 || err != nil {
		t.Errorf("after the fault: %d, %v", code, err)
	}
}
