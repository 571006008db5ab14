package apps

import (
	"reflect"
	"strings"
	"testing"
)

func TestFiguresAreMarkedWithTheirOwnOrigins(t *testing.T) {
	m, err := Load("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	origins := []Origin{{"fit", Measured, "a history"}, {"guess", Assumed, "nobody knows"}}
	data, err := EncodeMarked(m.App, origins, map[string]string{
		"nodes": "guess", "services.reviews.cpu.cv": "guess", "services.reviews.bounds": "guess", "kinds.page.slo": "guess",
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("marked.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.App, m.App) {
		t.Error("the application has changed on the way")
	}
	for _, f := range again.Figures {
		want := "fit"
		for _, marked := range []string{"nodes.", "services.reviews.cpu.cv", "services.reviews.bounds", "kinds.page.slo"} {
			if strings.HasPrefix(f.Field, marked) {
				want = "guess"
			}
		}
		if f.Line > 0 && f.Origin != want {
			t.Errorf("%s is marked %q, want %q", f.Field, f.Origin, want)
		}
	}
}

func TestMarksThatLeadNowhereAreRefused(t *testing.T) {
	m, err := Load("single")
	if err != nil {
		t.Fatal(err)
	}
	origins := []Origin{{"fit", Measured, "a history"}}
	for _, marks := range []map[string]string{{"services.nobody.cpu": "fit"}, {"services.server.cpu": "guess"}} {
		if _, err := EncodeMarked(m.App, origins, marks); err == nil || !strings.Contains(err.Error(), "1 of 1 marks") {
			t.Errorf("marks %v: err %v", marks, err)
		}
	}
}
