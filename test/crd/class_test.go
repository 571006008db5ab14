package crd

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/loadline/loadline/api/v1alpha1"
)

// fullClass is the example on the page about the class.
func fullClass(t *testing.T) map[string]any {
	t.Helper()
	page, err := os.ReadFile("../../docs/class.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/class.md has no example")
	}
	return parse(t, string(m[1]))
}

func TestTheExampleOfAClassIsGood(t *testing.T) {
	s := newServerOf(t, classDefinition)
	object := fullClass(t)
	for _, wrong := range s.take(object) {
		t.Error(wrong)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var c v1alpha1.LoadLineClass
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if r := c.Spec.Reserve; r.Namespace != "loadline-reserve" || r.PriorityClassName != "loadline-reserve" || r.Image == "" || r.Max == nil {
		t.Errorf("%+v", r)
	}
	if !c.IsDefault() {
		t.Error("it is not the default")
	}
}

// An empty class is valid, and holds nothing.
func TestAnEmptyClassHoldsNothing(t *testing.T) {
	s := newServerOf(t, classDefinition)
	object := parse(t, "{apiVersion: loadline.dev/v1alpha1, kind: LoadLineClass, metadata: {name: bare}, spec: {reserve: {}}}")
	if wrong := s.take(object); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if got := object["spec"].(map[string]any)["reserve"].(map[string]any)["policy"]; got != "Off" {
		t.Errorf("the policy is %v", got)
	}
}

var classRefusals = []struct{ name, change, want string }{
	{"a name too long for labels", `metadata.name: ` + strings.Repeat("a", 47), `metadata.name has 47 characters: use at most 46`},
	{"no address", `spec.prometheus.url: absent`, `spec.prometheus: url is missing: give the address of the server`},
	{"an address that is none", `spec.prometheus.url: prometheus:9090`, `spec.prometheus.url: must be an address such as`},
	{"a password in the address", `spec.prometheus.url: https://me:secret@prometheus`, `spec.prometheus.url: contains a name or password`},
	{"token and password", `spec.prometheus.basicAuth: {name: mine}`, `spec.prometheus: bearerToken and basicAuth are both given`},
	{"tls without tls", "spec.prometheus.url: http://prometheus", `spec.prometheus: tls has no effect on an http:// url`},
	{"no time for a query", `spec.prometheus.timeout: 3m`, `spec.prometheus.timeout: must be from 1s to 2m`},
	{"two authorities", `spec.prometheus.tls.caSecret: {name: ca, key: ca.crt}`,
		`spec.prometheus.tls: caSecret and caConfigMap are both given`},
	{"an authority for nothing", `spec.prometheus.tls.insecureSkipVerify: true`,
		`spec.prometheus.tls: insecureSkipVerify accepts any certificate`},
	{"a header of nothing", `spec.prometheus.headers[0].value: absent`, `spec.prometheus.headers[0]: give either value or secret`},
	{"a header with a colon", `spec.prometheus.headers[0].name: "X:"`, `spec.prometheus.headers[0].name: must consist of letters`},
	{"our own header", `spec.prometheus.headers[0].name: authorization`, `spec.prometheus.headers[0].name: is set by bearerToken`},
	{"a core for nothing", `spec.prices.coreHour: 0`, `spec.prices.coreHour: must be from 0.000001 to 10000`},
	{"memory beyond price", `spec.prices.gibHour: 10001`, `spec.prices.gibHour: must be from 0.000001 to 10000`},
	{"a node for nothing", `spec.prices.instances: {m5.xlarge: 0}`, `spec.prices.instances: prices of instances must be from 0.000001`},
	{"a sign as a currency", `spec.prices.currency: "$"`, `spec.prices.currency: must be a code of three letters, such as EUR`},
	{"a node at once", `spec.nodePools[0].startup: 0s`, `spec.nodePools[0].startup: must be longer than 0s and at most 1h`},
	{"a node without CPU", `spec.nodePools[0].allocatable.cpu: 0`, `spec.nodePools[0].allocatable: cpu (0) must be at least 1m`},
	{"memory without a unit", `spec.nodePools[0].allocatable.memory: 14`,
		`spec.nodePools[0].allocatable: memory (14) must be at least 1Mi: is its unit missing?`},
	{"a pool twice", "spec.nodePools[1].name: general", `spec.nodePools[1]: Duplicate value: {"name":"general"}`},
	{"an unknown policy", `spec.reserve.policy: "On"`, `spec.reserve.policy: Unsupported value: "On": supported values: "Off", "Placeholder"`},
	{"a reserve without end", `spec.reserve.max: absent`, `spec.reserve: max is missing: the policy Auto costs money`},
	{"a reserve of no memory", `spec.reserve.max.memory: 0`, `spec.reserve.max: memory (0) must be at least 1Mi`},
	{"a reserve of no CPU", `spec.reserve.max.cpu: 0`, `spec.reserve.max: cpu (0) must be at least 1m`},
	{"a namespace that is none", `spec.reserve.namespace: A/b`, `spec.reserve.namespace: must be the name of a namespace`},
	{"a field that does not exist", `spec.reserve.maximum: {}`, `unknown field spec.reserve.maximum`},
}

func TestRefusalsOfAClass(t *testing.T) {
	s := newServerOf(t, classDefinition)
	var reported []string
	for _, row := range classRefusals {
		t.Run(row.name, func(t *testing.T) {
			object := fullClass(t)
			edit(t, object, row.change)
			errors := s.take(object)
			if !slices.ContainsFunc(errors, func(text string) bool { return strings.Contains(plain(text), row.want) }) {
				t.Errorf("missing error: %s\nerrors: %s", row.want, strings.Join(errors, "\n      "))
			}
			for _, text := range errors {
				reported = append(reported, anyIndex.ReplaceAllString(plain(text), "[]"))
			}
		})
	}
	// No rule without a row.
	walk(s.structural, "", func(path string, at *structuralschema.Structural) {
		for _, rule := range at.XValidations {
			message := beginning(rule.Message, rule.MessageExpression)
			if isFormat(message) || !strings.HasPrefix(path, "spec") && path != "" {
				continue
			}
			if !slices.ContainsFunc(reported, func(text string) bool {
				at, said, _ := strings.Cut(text, ": ")
				return path == "" && strings.Contains(text, message) || at == path && strings.Contains(said, message)
			}) {
				t.Errorf("no row breaks the rule of %s: %s", path, rule.Rule)
			}
		}
	})
}
