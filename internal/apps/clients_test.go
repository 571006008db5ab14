package apps

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loadline/loadline"
)

// impatient is the shop with every option of its clients.
var impatient = strings.NewReplacer(
	"name: shop\n", "name: shop\nrouting: keep-alive\nkeepAlive: {connections: 4, lifetime: 90s}\n",
	"    replicas: 2\n", "    replicas: 2\n    retryBudget: 0.2\n",
	"twice: {service: back, times: 2}", "twice: {service: back, times: 2, timeout: 50ms, retries: {attempts: 2}}",
	"stages: [{use: twice}]", "stages: [{use: twice, timeout: 80ms}]",
	"  get:\n", "  get:\n    timeout: 3s\n    retries: {attempts: 1, backoff: 1s}\n    retryBudget: 0.1\n"+
		"    users: {requests: 10, think: {mean: 5s, shape: exponential}, patience: 2s, leave: 0.5}\n",
).Replace(shop)

func TestOptionsOfClientsAreRead(t *testing.T) {
	m, err := Parse("shop.yaml", []byte(impatient))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.App.KeepAlive, (loadline.KeepAlive{Connections: 4, Users: 100, Lifetime: 90 * time.Second}); got != want {
		t.Errorf("connections %+v, want %+v", got, want)
	}
	get := m.App.Kinds[0]
	if want := (loadline.Users{Requests: 10, Think: loadline.Dist{Mean: 5 * time.Second, CV: 1, Shape: loadline.Exponential},
		Patience: 2 * time.Second, Leave: 0.5}); get.Users != want {
		t.Errorf("users %+v, want %+v", get.Users, want)
	}
	if want := (loadline.Retries{Attempts: 1, Backoff: time.Second}); get.Retries != want || get.RetryBudget != 0.1 {
		t.Errorf("retries of users %+v within %v", get.Retries, get.RetryBudget)
	}
	// The call's own time-out overrides that of the shared sub-tree, whose retries remain.
	if c := get.Root.Stages[0][0]; c.Timeout != 80*time.Millisecond || c.Retries != (loadline.Retries{Attempts: 2, Backoff: defaultBackoff}) {
		t.Errorf("the call to back: %+v", c)
	}
	if m.App.Services[0].RetryBudget != 0.2 {
		t.Errorf("retry budget %v", m.App.Services[0].RetryBudget)
	}
	data, err := Encode(m.App)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Parse("again.yaml", data); err != nil || !reflect.DeepEqual(again.App, m.App) {
		t.Errorf("the application changed: %v\n%s", err, data)
	}
	for _, want := range []string{"1 retry, users send 10 requests 5s apart and leave with probability 0.5 after 2s",
		"back  (×2; given up after 80ms; 2 retries)"} {
		if tree := Tree(m.App); !strings.Contains(tree, want) {
			t.Errorf("%q is not in the tree\n%s", want, tree)
		}
	}
}

func TestFaultsOfClientsAreNamed(t *testing.T) {
	tests := []struct {
		name           string
		old, new       string // in the impatient shop
		field, contain string
	}{
		{"connections without keep-alive", "routing: keep-alive\n", "", "keepAlive", "unless the routing is keep-alive"},
		{"no connections", "connections: 4", "connections: 0", "keepAlive.connections", "from 1 to 10000"},
		{"a negative lifetime", "lifetime: 90s", "lifetime: -1s", "keepAlive.lifetime", "0 or more"},
		{"an unknown field of connections", "lifetime: 90s", "lifetme: 90s", "keepAlive.lifetme", `did you mean "lifetime"`},
		{"a budget above all calls", "retryBudget: 0.2", "retryBudget: 20", "services.front.retryBudget", "at most 1"},
		{"a budget of 0", "retryBudget: 0.1", "retryBudget: 0", "kinds.get.retryBudget", "above 0"},
		{"a plain number of retries", "retries: {attempts: 2}", "retries: 2", "calls.twice.retries", "{attempts, backoff}"},
		{"no attempts", "retries: {attempts: 1, backoff: 1s}", "retries: {backoff: 1s}", "kinds.get.retries.attempts", "from 1 to 100"},
		{"a time-out of 0", "timeout: 80ms", "timeout: 0s", "kinds.get.call.stages[0].timeout", "above 0"},
		{"users with one request", "requests: 10", "requests: 1", "kinds.get.users.requests", "from 2"},
		{"users without patience", "patience: 2s, ", "", "kinds.get.users.patience", "above 0"},
		{"users who always stay", "leave: 0.5", "leave: 0", "kinds.get.users.leave", "above 0"},
		{"a time-out of the root call", "call: {service: front, stages: [{use: twice",
			"call: {service: front, timeout: 1s, stages: [{use: twice", "kinds.get.call", "belong to the kind"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(impatient, test.old, test.new, 1)
			if text == impatient {
				t.Fatalf("%q is not in the shop", test.old)
			}
			_, err := Parse("shop.yaml", []byte(text))
			faults := faultsOf(err)
			if len(faults) != 1 || faults[0].Field != test.field || !strings.Contains(faults[0].Want, test.contain) {
				t.Errorf("faults %v, want one of %s with %q", err, test.field, test.contain)
			}
		})
	}
}

func TestClientsThatCannotWorkAreWarnedOf(t *testing.T) {
	text := strings.NewReplacer("timeout: 80ms", "timeout: 1ms", "retries: {attempts: 2}", "work: 1", "    retries: {attempts: 1, backoff: 1s}\n",
		"").Replace(impatient)
	m, err := Parse("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := Check(m).Warnings
	for _, want := range []string{
		"kind get: calls to back are given up after 1ms; unloaded they take 1ms on average",
		"kind get has a retry budget and no retries",
		"service front has a retry budget, and none of its calls has retries",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no warning %q in %q", want, got)
		}
	}
}
