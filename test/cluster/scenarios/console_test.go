package scenarios

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console"
	"github.com/loadline/loadline/test/cluster"
)

// account is a real service account of a namespace with a real token.
func (s *fixture) account(t *testing.T, namespace, name string) (token string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := s.admin.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := s.admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// reader lets an account read the LoadLines of its namespace.
func (s *fixture) reader(t *testing.T, namespace, name string, verbs string) (token string) {
	t.Helper()
	token = s.account(t, namespace, name)
	s.c.ApplyYAML(t, namespace, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s}
rules: [{apiGroups: [loadline.dev], resources: [loadlines], verbs: [%[2]s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[3]s}]
`, name, verbs, namespace))
	return token
}

// viewer asks a console.
type viewer struct {
	http  http.Client
	base  string
	token string
}

func (s *fixture) viewer(t *testing.T, address, token string) *viewer {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.c.CA())
	return &viewer{http: http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}, base: "https://" + address,
		token: token}
}

func (v *viewer) request(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, nil)
	if err != nil {
		return nil, err
	}
	if v.token != "" {
		r.Header.Set("Authorization", "Bearer "+v.token)
	}
	return v.http.Do(r)
}

func (v *viewer) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	answer, err := v.request(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// read an answer of a console; an error if there is none.
func read[T any](t *testing.T, v *viewer, path string) (T, error) {
	t.Helper()
	var result T
	code, body := v.get(t, path)
	if code != http.StatusOK {
		return result, fmt.Errorf("%s: %d %s", path, code, body)
	}
	err := json.Unmarshal([]byte(body), &result)
	return result, err
}

// TestConsoleShowsWhatAUserMayRead: two users with real tokens, of two namespaces.
func TestConsoleShowsWhatAUserMayRead(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	other := s.c.Namespace(t)
	p := s.c.Run(t, cluster.ProductOptions{Namespaces: []string{s.ns, other}, Console: cluster.FreeAddress(t)})
	name := s.app.Services[0].Name
	s.loadLine(t, v1alpha1.Act, "")
	s.c.ApplyYAML(t, other, strings.Replace(s.text(v1alpha1.Observe, ""), "{name: shop}", "{name: secret}", 1))
	alice := s.viewer(t, p.Console, s.reader(t, s.ns, "alice", "get, list"))
	bob := s.viewer(t, p.Console, s.reader(t, other, "bob", "get, list"))
	eve := s.viewer(t, p.Console, s.account(t, other, "eve"))
	s.waitReplicas(t, name, 3, 12)

	one := "/api/v1/applications/" + s.ns + "/shop"
	cluster.Eventually(t, "the application with its objective, its service and money", func() error {
		d, err := read[console.Detail](t, alice, one)
		if err != nil {
			return err
		}
		if len(d.Services) != 1 || d.Services[0].Name != name || d.Services[0].Applied == nil || *d.Services[0].Applied < 3 ||
			d.Services[0].Rate == nil || d.Services[0].Size == nil || d.Services[0].Utilisation == nil {
			return fmt.Errorf("services: %+v", d.Services)
		}
		if len(d.Objectives) != 1 || d.Objectives[0].Target != 0.25 || d.Objectives[0].Percentile != 99 ||
			d.Objectives[0].Latency == nil || d.Objectives[0].Attainment == nil || d.Objectives[0].BudgetLeft == nil {
			return fmt.Errorf("objectives: %+v", d.Objectives)
		}
		if d.Money == nil || d.Money.PerHour == nil || *d.Money.PerHour <= 0 || d.Mode != "Act" || d.Rung == nil || d.Rung.Name != "Primary" {
			return fmt.Errorf("money %+v, mode %s, rung %+v", d.Money, d.Mode, d.Rung)
		}
		return nil
	})
	for who, v := range map[string]*viewer{s.ns + "/shop": alice, other + "/secret": bob, "": eve} {
		list, err := read[console.List](t, v, "/api/v1/applications")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range list.Applications {
			names = append(names, a.Namespace+"/"+a.Name)
		}
		if strings.Join(names, " ") != who {
			t.Errorf("a user sees %q, want %q", names, who)
		}
	}
	// What a user may not read is answered as what there is not.
	for _, v := range []*viewer{alice, eve} {
		code, hidden := v.get(t, "/api/v1/applications/"+other+"/secret")
		none, absent := v.get(t, "/api/v1/applications/"+other+"/nothing")
		nowhere, _ := v.get(t, "/api/v1/applications/nowhere/secret/series")
		if code != http.StatusNotFound || none != code || nowhere != code || hidden != absent {
			t.Errorf("a hidden LoadLine is %d %q, an absent one %d %q", code, hidden, none, absent)
		}
		if list, err := read[console.List](t, v, "/api/v1/applications?namespace="+other); err != nil || len(list.Applications) > 0 {
			t.Errorf("the other namespace has %+v, %v", list, err)
		}
	}
	changes, err := read[console.Changes](t, alice, one+"/changes")
	if err != nil || len(changes.Changes) == 0 || changes.Changes[0].Why == "" || !changes.Changes[0].Applied {
		t.Errorf("changes: %+v, %v", changes, err)
	}
	why, err := read[console.Explanations](t, alice, one+"/explain?service="+name)
	if err != nil || len(why.Explanations) != 1 || !strings.Contains(why.Explanations[0].Text, name+" went from") {
		t.Errorf("explanation: %+v, %v", why, err)
	}
	if code, body := alice.get(t, one+"/explain?service=nobody"); code != http.StatusNotFound || strings.Contains(body, p.Dir) {
		t.Errorf("an unknown service is %d %s", code, body)
	}
	s.checkRefusals(t, p, one)
	if strings.Contains(p.Log(t), alice.token) || strings.Contains(p.Log(t), "Bearer") {
		t.Error("the log has a token")
	}
}

// checkRefusals: without a token, with a forged one, with another host, method or body.
func (s *fixture) checkRefusals(t *testing.T, p *cluster.Product, path string) {
	t.Helper()
	good := s.reader(t, s.ns, "carol", "get, list")
	for _, row := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"a good one", func(r *http.Request) {}, http.StatusOK},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		{"a forged token", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+good+"x") }, http.StatusUnauthorized},
		{"a token of a cookie", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Cookie", "token="+good)
		}, http.StatusUnauthorized},
		{"another host", func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		{"a page of another site", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		{"a write", func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		{"a body", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), 1
		}, http.StatusRequestEntityTooLarge},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.Console+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+good)
		row.change(r)
		answer, err := s.viewer(t, p.Console, "").http.Do(r)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != row.want || !strings.Contains(answer.Header.Get("Content-Security-Policy"), "default-src 'none'") ||
			len(answer.Cookies()) > 0 || answer.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %s, want %d; headers %v", row.name, answer.Status, row.want, answer.Header)
		}
	}
}

// TestConsoleStreamsAndOutlivesARestart: live updates arrive, of the readable namespace only, and
// a killed process shows afterwards what it decided before.
func TestConsoleStreamsAndOutlivesARestart(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	other := s.c.Namespace(t)
	o := cluster.ProductOptions{Namespaces: []string{s.ns, other}, Console: cluster.FreeAddress(t)}
	p := s.c.Run(t, o)
	s.loadLine(t, v1alpha1.Act, "")
	alice := s.viewer(t, p.Console, s.reader(t, s.ns, "alice", "get, list"))
	s.waitReplicas(t, s.app.Services[0].Name, 3, 12)

	answer, err := alice.request(t.Context(), "/api/v1/events")
	if err != nil || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v", answer, err)
	}
	defer answer.Body.Close()
	s.c.ApplyYAML(t, other, strings.Replace(s.text(v1alpha1.Observe, ""), "{name: shop}", "{name: secret}", 1))
	s.annotate(t, s.get(t), "true")
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	updates, paused := 0, false
	for !paused && lines.Scan() {
		if strings.Contains(lines.Text(), other) || strings.Contains(lines.Text(), `"secret"`) {
			t.Fatalf("the other namespace is in the stream: %s", lines.Text())
		}
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			updates++
			paused = strings.Contains(data, v1alpha1.ReasonPausedByAnnotation)
		}
	}
	if updates < 2 || !paused {
		t.Errorf("%d updates arrived, %v", updates, lines.Err())
	}
	changes, err := read[console.Changes](t, alice, "/api/v1/applications/"+s.ns+"/shop/changes")
	if err != nil || len(changes.Changes) == 0 {
		t.Fatalf("%+v %v", changes, err)
	}
	last := changes.Changes[0]
	p.Kill()
	killed := time.Now()
	o.Dir, o.Console = p.Dir, cluster.FreeAddress(t)
	again := s.c.Run(t, o)
	alice = s.viewer(t, again.Console, alice.token)
	cluster.Eventually(t, "what was decided before the restart", func() error {
		changes, err := read[console.Changes](t, alice, "/api/v1/applications/"+s.ns+"/shop/changes")
		if err != nil {
			return err
		}
		for _, c := range changes.Changes {
			if c.At.Equal(last.At) && c.Why == last.Why {
				return nil
			}
		}
		return fmt.Errorf("changes: %+v", changes)
	})
	series, err := read[console.Series](t, alice, "/api/v1/applications/"+s.ns+"/shop/series")
	if err != nil || !series.Complete || len(series.Times) == 0 || series.Times[0] > killed.Unix() || len(series.Services) != 1 ||
		len(series.Services[0].Applied) != len(series.Times) {
		t.Errorf("series: %+v, %v", series, err)
	}
}

// TestAStandbyPassesRequestsOn: whichever replica is asked, the answer is the leader's; without
// the leader it is from the status.
func TestAStandbyPassesRequestsOn(t *testing.T) {
	t.Parallel()
	s := setUp(t, single(t), 160)
	addresses := []string{cluster.FreeAddress(t), cluster.FreeAddress(t)}
	peers := []string{"--console-peers", strings.Join(addresses, ",")}
	first := s.run(t, cluster.ProductOptions{LeaderElect: true, Console: addresses[0], Flags: peers})
	s.loadLine(t, v1alpha1.Act, "")
	s.waitReplicas(t, s.app.Services[0].Name, 3, 12)
	second := s.run(t, cluster.ProductOptions{LeaderElect: true, Console: addresses[1], Flags: peers})
	leader, standby := s.leading(t, first, second)
	token := s.reader(t, s.ns, "alice", "get, list")
	alice := s.viewer(t, standby.Console, token)
	one := "/api/v1/applications/" + s.ns + "/shop"
	cluster.Eventually(t, "the leader's answers from a standby", func() error {
		list, err := read[console.List](t, alice, "/api/v1/applications")
		if err == nil && (!list.Leader || len(list.Applications) != 1) {
			err = fmt.Errorf("list: %+v", list)
		}
		if err != nil {
			return err
		}
		why, err := read[console.Explanations](t, alice, one+"/explain")
		if err == nil && len(why.Explanations) != 1 {
			err = fmt.Errorf("explanations: %+v", why)
		}
		return err
	})
	answer, err := alice.request(t.Context(), "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	event, err := bufio.NewReader(answer.Body).ReadString('\n')
	answer.Body.Close()
	if err != nil || event != "event: application\n" {
		t.Errorf("the stream begins with %q, %v", event, err)
	}
	if v := s.viewer(t, standby.Console, token+"x"); true {
		if code, _ := v.get(t, one); code != http.StatusUnauthorized {
			t.Errorf("a forged token is answered with %d", code)
		}
	}
	leader.Suspend()
	defer leader.Resume()
	cluster.Eventually(t, "the status from a standby whose leader does not answer", func() error {
		d, err := read[console.Detail](t, alice, one)
		if err == nil && (len(d.Services) != 1 || !strings.Contains(d.Record, "standby") && !strings.Contains(d.Record, "decision log")) {
			err = fmt.Errorf("%+v", d)
		}
		return err
	})
}
