package registry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPolicyWithoutAModelIsPromoted: it is a version like any other, and has no model file.
func TestAPolicyWithoutAModelIsPromoted(t *testing.T) {
	r := Open(filepath.Join(t.TempDir(), "registry"))
	if _, err := r.Promote(offer(writeModel(t, "a", "shop", 1), "one")); err != nil {
		t.Fatal(err)
	}
	o := offer("", "planner")
	o.SHA256, o.Promotion.Policy, o.Promotion.Fallback = "", "planner", "hpa:target=60"
	p, err := r.Promote(o)
	if err != nil || p.Version != 2 || p.Former != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	now, path, err := r.Current("shop")
	if err != nil || path != "" || now.Policy != "planner" || now.Fallback != "hpa:target=60" {
		t.Errorf("%+v at %q, %v", now, path, err)
	}
	card, err := os.ReadFile(filepath.Join(r.folder("shop", 2), CardFile))
	if err != nil || !strings.Contains(string(card), "planner, which needs no training") || strings.Contains(string(card), "SHA-256") {
		t.Errorf("%s, %v", card, err)
	}
	if _, err := r.Promote(o); !errors.Is(err, ErrInCharge) {
		t.Errorf("promoted twice: %v", err)
	}
	if p, err = r.Rollback("shop", noon); err != nil || p.Version != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	o.Promotion.Policy = "planer"
	if _, err := r.Promote(o); err == nil || !strings.Contains(err.Error(), `did you mean "planner"`) {
		t.Errorf("an unknown policy: %v", err)
	}
}
