package prom

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAllowedAddresses(t *testing.T) {
	list, err := ParseAllowList([]string{"http://prometheus.monitoring:9090", "https://mimir/tenant-a/", "https://*.thanos.example"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"http://prometheus.monitoring:9090": true, "http://PROMETHEUS.monitoring:9090/prometheus": true,
		"https://prometheus.monitoring:9090": false, "http://prometheus.monitoring": false, "http://prometheus.monitoring:9090.evil": false,
		"https://mimir/tenant-a": true, "https://mimir/tenant-a/prometheus": true, "https://mimir/tenant-ab": false,
		"https://mimir/tenant-a/../tenant-b": false, "https://mimir/tenant-a/%2e%2e/tenant-b": false, "https://mimir": false,
		"https://eu.thanos.example": true, "https://thanos.example": false, "https://evilthanos.example": false,
		"http://169.254.169.254/latest": false, "http://user@prometheus.monitoring:9090@evil": false, "::": false,
	} {
		if err := list.Check(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
		if err := (AllowList(nil)).Check(address); err != nil {
			t.Errorf("without a list: %v", err)
		}
	}
	for _, wrong := range []string{"prometheus:9090", "ftp://prometheus", "http://", "http://a:b@prometheus", "http://prometheus?x=1"} {
		if _, err := ParseAllowList([]string{wrong}); err == nil || !strings.Contains(err.Error(), "must be http://") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestAnswersAreNotQuoted: what a server says, which may be any server, is not in the message.
func TestAnswersAreNotQuoted(t *testing.T) {
	for code, body := range map[int]string{
		200: "root-secret", 401: "root-secret", 403: `{"status":"error","errorType":"x","error":"root-secret"}`, 404: "root-secret",
		422: `{"status":"error","errorType":"x","error":"root-secret"}`, 500: "root-secret", 418: "root-secret",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}))
		defer server.Close()
		for _, unquoted := range []bool{false, true} {
			c := client(t, Server{URL: server.URL, Unquoted: unquoted, Attempts: 1})
			_, one := c.Query(t.Context(), "up", time.Unix(1, 0))
			two := c.Each(t.Context(), "up", time.Unix(1, 0), func() {}, func(*Series) {})
			for _, err := range []error{one, two} {
				if err == nil || unquoted && strings.Contains(err.Error(), "root") {
					t.Errorf("%d: %v", code, err)
				}
			}
			if !unquoted && code == 422 && !strings.Contains(two.Error(), "root-secret") {
				t.Errorf("%d: %v", code, two)
			}
		}
	}
}
