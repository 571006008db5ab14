package registry

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/modelfile"
	"github.com/loadline/loadline/internal/policy"
)

// FuzzRead: whatever is in the files of a registry, it is read or an error names the file.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	r := Open(dir)
	if _, err := r.Promote(offer(writeModel(f, "a", "shop", 1), "one")); err != nil {
		f.Fatal(err)
	}
	now, then := filepath.Join(dir, "shop", currentFile), filepath.Join(r.folder("shop", 1), promotionFile)
	var good [2][]byte
	for i, path := range []string{now, then} {
		var err error
		if good[i], err = os.ReadFile(path); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(good[0], good[1])
	f.Add([]byte(`{"format":1,"app":"shop","version":-1}`), good[1])
	f.Add(good[0], []byte(`{"format":1,"app":"shop","version":1,"policy":"planner"}`))
	f.Add([]byte(`{"format":99}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, current, promotion []byte) {
		for path, text := range map[string][]byte{now: current, then: promotion} {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		a, err := r.App("shop")
		if err != nil && !bytes.Contains([]byte(err.Error()), []byte(dir)) {
			t.Errorf("%v does not name its file", err)
		}
		p, path, err2 := r.Current("shop")
		if err2 == nil && (p.App != "shop" || p.Version < 1 || (path == "") != (p.Policy != "")) {
			t.Errorf("current is %+v with the file %q", p, path)
		}
		if err == nil && err2 == nil && (len(a.Versions) != 1 || a.Current != p.Version) {
			t.Errorf("listed %+v, current %+v", a, p)
		}
	})
}

// modelsOf has a small model file of every method that reads one, by the kind of its card.
func modelsOf(f *testing.F) map[string]*modelfile.File {
	all := map[string]*modelfile.File{}
	for _, path := range []string{writeModel(f, "a", "shop", 1), writeDRPC(f, shop(), 1), writeSteered(f, shop(), "parslo")} {
		file, err := modelfile.Open(path)
		if err != nil {
			f.Fatal(err)
		}
		all[file.Card.Kind] = file
	}
	for _, m := range policy.Methods() {
		if m.ReadsFile() && all[m.Kind] == nil {
			f.Fatalf("method %s reads files of kind %s, of which there is none here: add one", m.Name, m.Kind)
		}
	}
	return all
}

// mostMemory bounds what opening a model of one small service may allocate in all.
const mostMemory = 64 << 20

// FuzzOpenModel: a model file of any method with any card, any kind and without some of its arrays is
// opened or gives an error, within bounded memory; what is opened can be written again and makes a
// policy or an error.
func FuzzOpenModel(f *testing.F) {
	files := modelsOf(f)
	kinds := slices.Sorted(maps.Keys(files))
	for i, kind := range kinds {
		card, err := json.Marshal(files[kind].Card)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(card, uint8(i), uint8(255))
		f.Add(card, uint8(i+1), uint8(0))
		f.Add(bytes.ReplaceAll(card, []byte(`1`), []byte(`1000000`)), uint8(i), uint8(1))
	}
	app := shop()
	f.Fuzz(func(t *testing.T, card []byte, of, without uint8) {
		from := files[kinds[int(of)%len(kinds)]]
		file := *from
		file.Card, file.Arrays = modelfile.Card{}, maps.Clone(from.Arrays)
		if json.Unmarshal(card, &file.Card) != nil {
			return
		}
		if names := slices.Sorted(maps.Keys(file.Arrays)); int(without) < len(names) {
			delete(file.Arrays, names[without])
		}
		var text bytes.Buffer
		if file.Encode(&text) != nil {
			return // no reader would get so far
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read, err := modelfile.Read(&text)
		if err != nil {
			t.Fatalf("it was written, and cannot be read: %v", err)
		}
		m, err := policy.ReadModel(read)
		if err != nil {
			if m != nil || err.Error() == "" {
				t.Fatalf("model %v with error %v", m, err)
			}
			return
		}
		_, _ = m.Policy(app)
		m.About()
		again, err := m.File(nil)
		if err != nil {
			t.Fatalf("what was opened cannot be written: %v", err)
		}
		if _, err := policy.ReadModel(again); err != nil {
			t.Fatalf("what was opened and written cannot be opened: %v", err)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > mostMemory {
			t.Errorf("opening a file of %d bytes allocates %d", text.Cap(), after.TotalAlloc-before.TotalAlloc)
		}
	})
}
