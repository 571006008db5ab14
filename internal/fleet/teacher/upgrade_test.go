package teacher

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/rl"
)

var update = flag.Bool("update", false, "write the state of the present version to testdata")

// fresh is a teacher that has learned nothing, without a fleet.
func fresh(t testing.TB) *Teacher {
	t.Helper()
	app := shop(t)
	m := ignorant(t, app)
	c := &Teacher{config: small(m), model: m, problems: map[string]string{}}
	if err := c.prepare(scenario(app)); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStatesOfThisVersionAreRestored: what a release of the same version saved is restored, and saved
// again as the same bytes. A change of what is saved must raise the version of rl's archives.
func TestStatesOfThisVersionAreRestored(t *testing.T) {
	const file = "testdata/state-2.gz"
	want := fleet.Ledger{Last: 3, Counted: 2, Version: 1, Digest: "0a1b"}
	if *update {
		c := fresh(t)
		c.learned, c.published = 7, 1
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(rl.Save(&state{c, &want})); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	c, got := fresh(t), fleet.Ledger{}
	if err := rl.Restore(saved, &state{c, &got}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || c.learned != 7 || c.published != 1 {
		t.Errorf("%+v, %d learned, %d published", got, c.learned, c.published)
	}
	if !bytes.Equal(rl.Save(&state{c, &got}), saved) {
		t.Error("what was restored is saved as something else")
	}
	newer := bytes.Replace(saved, []byte("loadline-learning-2"), []byte("loadline-learning-3"), 1)
	if err := rl.Restore(newer, &state{fresh(t), &got}); err == nil ||
		!strings.Contains(err.Error(), `is of version "3", and this program reads 2`) {
		t.Errorf("a newer state: %v", err)
	}
}
