package apps

import (
	"reflect"
	"testing"
)

// FuzzParse: no file crashes the parser, and what it accepts is valid: it can be written, reads
// back to the same application, and every call has a service.
func FuzzParse(f *testing.F) {
	// The larger ones would keep the fuzzer busy with minimising them.
	for _, name := range []string{"single", "bookinfo"} {
		data, err := embedded.ReadFile(name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(shop))
	f.Add([]byte(impatient))
	f.Add([]byte("version: 1\nservices: {a: *a}\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse("fuzz.yaml", data)
		if err != nil {
			if m != nil {
				t.Fatal("both a model and an error")
			}
			return
		}
		out, err := Encode(m.App)
		if err != nil {
			t.Fatalf("an accepted application cannot be written: %v", err)
		}
		again, err := Parse("again.yaml", out)
		if err != nil {
			t.Fatalf("an accepted application reads back with faults: %v\n%s", err, out)
		}
		if !reflect.DeepEqual(m.App, again.App) {
			t.Fatalf("an accepted application reads back as another:\n%s", out)
		}
		Check(m)
		Tree(m.App)
		DrawGraph(m.App)
	})
}
