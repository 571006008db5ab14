package policy

import (
	"slices"
	"testing"
)

func TestAnAliasIsAcceptedAndNotListed(t *testing.T) {
	p, err := New("clairvoyant:level=0.4", boundApp())
	if err != nil || p.Name() != "oracle" {
		t.Errorf("clairvoyant gives %v, %v, want the policy oracle", p, err)
	}
	if slices.Contains(Names(), "clairvoyant") {
		t.Error("clairvoyant is listed")
	}
	for spec, want := range map[string]string{
		"clairvoyant": "oracle", "clairvoyant:axes=replicas+cpu": "oracle:axes=replicas+cpu",
		"oracle:level=1": "oracle:level=1", "hpa:target=60": "hpa:target=60", "unknown:x=1": "unknown:x=1", "": "",
	} {
		if got := Canonical(spec); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", spec, got, want)
		}
	}
	if err := (Method{Name: "clairvoyant", About: "x", New: oracleMethod.New}).check(); err == nil {
		t.Error("the alias of a method can be registered as a name")
	}
}
