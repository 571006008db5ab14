package papers

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/loadline/loadline/internal/shard"
)

// TestShardsMakeAnExperimentTogether: two processes with one folder give the report of one, and each
// figure is made once.
func TestShardsMakeAnExperimentTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("trains small networks")
	}
	report := func(o Options) []byte {
		r, err := Serverless(context.Background(), o)
		if err != nil {
			t.Error(err)
			return nil
		}
		var text bytes.Buffer
		if err := r.WriteJSON(&text); err != nil {
			t.Error(err)
		}
		return text.Bytes()
	}
	alone := tiny(t, 2)
	want := report(alone)
	together := tiny(t, 1)
	got := make(chan []byte, 2)
	for i := range 2 {
		o := together
		o.Shard = shard.Part{Index: i, Of: 2}
		go func() { got <- report(o) }()
	}
	for range 2 {
		if text := <-got; !bytes.Equal(text, want) {
			t.Errorf("the report of one of two differs:\n%s\n%s", text, want)
		}
	}
	for _, o := range []Options{alone, together} {
		files, err := os.ReadDir(filepath.Join(o.Models, "figures"))
		if err != nil || len(files) == 0 {
			t.Errorf("%d figures are kept, %v", len(files), err)
		}
	}
	if again := report(alone); !bytes.Equal(again, want) {
		t.Error("the report of what is kept differs")
	}
}
