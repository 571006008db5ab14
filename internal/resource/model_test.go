package resource_test

import (
	"testing"

	"github.com/loadline/loadline/internal/resource"
)

func TestRegistryOf(t *testing.T) {
	for _, row := range []struct {
		name, policy string
		want         resource.Registry
		ok, bad      bool
	}{
		{name: "a folder", policy: "{model: {folder: registry}}", want: resource.Registry{Dir: "/models/registry", Application: "shop"},
			ok: true},
		{name: "the folder of models itself", policy: "{model: {folder: ., application: a, version: 3}}",
			want: resource.Registry{Dir: "/models", Application: "a", Version: 3}, ok: true},
		{name: "a claim", policy: "{model: {claim: {name: vol, path: x/y}}}",
			want: resource.Registry{Dir: "/models/vol/x/y", Application: "shop"}, ok: true},
		{name: "a ConfigMap is no registry", policy: "{model: {configMap: {name: m}}}"},
		{name: "a baseline has none", policy: "{baseline: hpa}"},
		{name: "no way out of the folder", policy: "{model: {folder: a/../../etc}}", bad: true},
		{name: "no way to the root", policy: "{model: {folder: /etc}}", bad: true},
		{name: "no way out by a claim", policy: "{model: {claim: {name: .., path: etc}}}", bad: true},
		{name: "no way out by an application", policy: "{model: {folder: a, application: ../../b}}", bad: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok, err := resource.RegistryOf(read(t, "policy: "+row.policy), "/models")
			if got != row.want || ok != row.ok || (err != nil) != row.bad {
				t.Errorf("got %+v, %v, %v", got, ok, err)
			}
		})
	}
}
