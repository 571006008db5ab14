package history

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

func written(t *testing.T, h *History) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "past")
	if err := Write(dir, h); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, dir string, o Options) *History {
	t.Helper()
	h, err := Read(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// refused expects an error that contains every given piece.
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want %q in it", err, w)
		}
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for seed := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, 2))
		h := random(rng, 1+rng.IntN(4), 1+rng.IntN(90))
		dir := written(t, h)
		got := read(t, dir, Options{})
		equal(t, got, h)
		if m := got.Manifest; !m.Complete || m.Source != "test" || len(m.Notes) != 1 || m.Part != h.Manifest.Part {
			t.Fatalf("manifest %+v", m)
		}
		from := rng.IntN(h.Steps)
		to := from + 1 + rng.IntN(h.Steps-from)
		cut := h.Cut(from, to)
		cut.Tidy()
		equal(t, read(t, dir, Options{From: h.At(from - 1), To: h.At(to - 1)}), cut)
	}
}

// A library may take a zero for a missing value, which would silently corrupt a history.
func TestAMeasuredZeroIsNotAbsent(t *testing.T) {
	h := &History{Manifest: Manifest{Source: "test"}, Start: epoch, Step: time.Minute, Steps: 4, Services: []Service{{Name: "web"}}}
	nan := float32(math.NaN())
	h.Services[0].Series[Errors] = Series{0, nan, 0, 1}
	h.Services[0].Series[Queue] = Series{0, 0, 0, 0}
	got := read(t, written(t, h), Options{}).Services[0]
	for i, want := range []bool{true, false, true, true} {
		if _, present := got.Series[Errors].Get(i); present != want {
			t.Errorf("step %d is present: %v, want %v", i, present, want)
		}
	}
	if got.Series[Queue].Present() != 4 || got.Series[Rate] != nil {
		t.Errorf("%d zeros came back, want 4; rate %v, want none", got.Series[Queue].Present(), got.Series[Rate])
	}
}

func TestOneServiceCanBeReadAlone(t *testing.T) {
	h := random(rand.New(rand.NewPCG(5, 5)), 4, 40)
	dir := written(t, h)
	got := read(t, dir, Options{Services: []string{"service-2"}})
	if len(got.Services) != 1 || got.Services[0].Name != "service-2" {
		t.Fatalf("services %v", got.Services)
	}
	for m := range h.Services[2].Series {
		equalSeries(t, ServiceMetric(m).String(), got.Services[0].Series[m], h.Services[2].Series[m])
	}
	for _, c := range got.Calls {
		if c.From != "service-2" && c.To != "service-2" {
			t.Errorf("%v are not those of the service", &c)
		}
	}
	_, err := Read(dir, Options{Services: []string{"servise-2"}})
	refused(t, err, `no service "servise-2"`, "service-2")
	_, err = Read(dir, Options{From: h.At(100)})
	refused(t, err, "no step between", "2026-03-01T00:00:00Z to")
}

// The middle part has a service that the others lack.
func TestServicesComeAndGo(t *testing.T) {
	m := Manifest{Source: "test", Start: epoch, Step: 15 * time.Second, Steps: 25, Part: 10}
	w, err := NewWriter(filepath.Join(t.TempDir(), "past"), m)
	if err != nil {
		t.Fatal(err)
	}
	for part := range 3 {
		from, to := m.Span(part)
		h := &History{Start: m.At(from), Step: m.Step, Steps: to - from}
		for _, name := range []string{"guest", "host"} {
			if name == "guest" && part != 1 {
				continue
			}
			s := Service{Name: name}
			s.Series[Rate] = make(Series, h.Steps)
			h.Services = append(h.Services, s)
		}
		if err := w.WritePart(part, h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(nil); err != nil {
		t.Fatal(err)
	}
	h := read(t, w.dir, Options{})
	guest := h.Service("guest").Series[Rate]
	for i := range guest {
		if _, present := guest.Get(i); present != (i >= 10 && i < 20) {
			t.Errorf("step %d of the guest is present: %v", i, present)
		}
	}
	if n := h.Service("host").Series[Rate].Present(); n != 25 {
		t.Errorf("%d steps of the host, want 25", n)
	}
}

func TestAnUnfinishedHistoryIsContinued(t *testing.T) {
	h := random(rand.New(rand.NewPCG(7, 7)), 2, 30)
	h.Manifest.Part = 10
	dir := filepath.Join(t.TempDir(), "past")
	m := h.Manifest
	w, err := NewWriter(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePart(1, h.Cut(10, 20)); err != nil {
		t.Fatal(err)
	}
	refused(t, w.Finish(nil), "services-0000.parquet is not there yet")
	_, err = Read(dir, Options{})
	refused(t, err, "unfinished (1 of 3 parts are there)", "again")
	refused(t, w.WritePart(0, h.Cut(10, 20)), "part 0", "not 10 of 15s from")
	refused(t, w.WritePart(3, h.Cut(10, 20)), "parts 0 to 2")

	other := m
	other.Source, other.Start = "other", m.Start.Add(time.Hour)
	_, err = NewWriter(dir, other)
	refused(t, err, "source is test there and other here", "start is 2026-03-01T00:00:15Z there")

	w, err = NewWriter(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	if w.Has(0) || !w.Has(1) || w.Has(2) {
		t.Errorf("parts %v %v %v, want the middle one alone", w.Has(0), w.Has(1), w.Has(2))
	}
	for _, part := range []int{0, 2} {
		from, to := m.Span(part)
		if err := w.WritePart(part, h.Cut(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(func(m *Manifest) { m.Notes = []string{"pulled in two goes"} }); err != nil {
		t.Fatal(err)
	}
	got := read(t, dir, Options{})
	equal(t, got, h)
	if len(got.Manifest.Notes) != 1 || got.Manifest.Notes[0] != "pulled in two goes" {
		t.Errorf("notes %q", got.Manifest.Notes)
	}
	_, err = NewWriter(dir, m)
	refused(t, err, "already holds a history", "another folder")
}

func TestHistoriesAreReplacedOnlyWithForce(t *testing.T) {
	a, b := random(rand.New(rand.NewPCG(1, 9)), 2, 20), random(rand.New(rand.NewPCG(2, 9)), 3, 10)
	dir := written(t, a)
	refused(t, Write(dir, b), "already holds a history")
	equal(t, read(t, dir, Options{}), a)
	if err := Replace(dir, b); err != nil {
		t.Fatal(err)
	}
	equal(t, read(t, dir, Options{}), b)
	beside, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(beside) != 1 {
		t.Errorf("%v is left beside the history (%v)", beside, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	refused(t, Replace(dir, a), "thesis.tex", "another folder")
	equal(t, read(t, dir, Options{}), b)
}

type fullDisk struct {
	io.Writer
	left int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.Writer.Write(p)
}

func TestAFullDiskLosesNothing(t *testing.T) {
	h := random(rand.New(rand.NewPCG(3, 3)), 2, 20)
	h.Manifest.Part = 10
	dir := filepath.Join(t.TempDir(), "past")
	w, err := NewWriter(dir, h.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePart(0, h.Cut(0, 10)); err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, 10, 1000} {
		w.wrap = func(to io.Writer) io.Writer { return &fullDisk{to, left} }
		err = w.WritePart(1, h.Cut(10, 20))
		refused(t, err, "no space left", "make room and run the same again")
		if !errors.Is(err, syscall.ENOSPC) || w.Has(1) || !w.Has(0) {
			t.Fatalf("%v; parts %v %v, want the first alone", err, w.Has(0), w.Has(1))
		}
	}
	w.wrap = nil
	if err := w.WritePart(1, h.Cut(10, 20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(nil); err != nil {
		t.Fatal(err)
	}
	equal(t, read(t, dir, Options{}), h)
	names, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestBadHistoriesAreNotWritten(t *testing.T) {
	good := func() *History { return random(rand.New(rand.NewPCG(4, 4)), 3, 10) }
	for _, c := range []struct {
		name, want string
		change     func(*History)
	}{
		{"a series that is too short", "9 values for 10 steps", func(h *History) { h.Services[1].Series[Rate] = make(Series, 9) }},
		{"services out of order", "must be sorted", func(h *History) { h.Services[0].Name = "zebra" }},
		{"two services of one name", "must be sorted and differ", func(h *History) { h.Services[1].Name = h.Services[0].Name }},
		{"a service without a name", "has no name", func(h *History) { h.Services[0].Name = "" }},
		{"calls to nowhere", "go nowhere", func(h *History) { h.Calls[0].To = "" }},
		{"no steps", "steps 0 must be", func(h *History) { h.Steps, h.Services, h.Calls = 0, nil, nil }},
		{"a step of nanoseconds", "whole milliseconds", func(h *History) { h.Step = 3 }},
		{"before time began", "years 1970 to 2261", func(h *History) { h.Start = time.Time{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := good()
			h.Manifest.Part = 10
			c.change(h)
			refused(t, Write(filepath.Join(t.TempDir(), "past"), h), c.want)
		})
	}
}

func TestDamagedFoldersAreNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   []string
		damage func(t *testing.T, dir string)
	}{
		{"no manifest", []string{"no history in", "manifest.json"}, func(t *testing.T, dir string) { remove(t, dir, ManifestFile) }},
		{"a torn manifest", []string{"manifest.json: not a history's manifest"},
			func(t *testing.T, dir string) { cut(t, dir, ManifestFile, 20) }},
		{"a newer version", []string{"version 2 is newer", "later one"}, func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]any) { m["version"], m["steps"] = 2, "many" })
		}},
		{"something else in JSON", []string{"version 0: not a history's manifest"}, func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]any) { delete(m, "version") })
		}},
		{"a negative step", []string{"step_ns -15 must be positive"}, func(t *testing.T, dir string) {
			edit(t, dir, func(m map[string]any) { m["step_ns"] = -15 })
		}},
		{"a missing part", []string{"services-0001.parquet is missing", "copy it there"},
			func(t *testing.T, dir string) { remove(t, dir, servicesFile(1)) }},
		{"a torn part", []string{"calls-0000.parquet: not a whole Parquet file", "copy it anew"},
			func(t *testing.T, dir string) { cut(t, dir, callsFile(0), 100) }},
		{"an empty part", []string{"services-0000.parquet: not a whole Parquet file"},
			func(t *testing.T, dir string) { cut(t, dir, servicesFile(0), 0) }},
		{"a foreign Parquet file", []string{"services-0000.parquet: not a part of a history"}, func(t *testing.T, dir string) {
			type row struct{ Name string }
			if err := parquet.WriteFile(filepath.Join(dir, servicesFile(0)), []row{{"x"}}); err != nil {
				t.Fatal(err)
			}
		}},
		{"parts that were swapped", []string{"services-0001.parquet", "says it is part 0 of the services, and stands in for part 1"},
			func(t *testing.T, dir string) { replace(t, dir, servicesFile(1), servicesFile(0)) }},
		{"calls in the place of services", []string{"says it is part 0 of the calls"},
			func(t *testing.T, dir string) { replace(t, dir, servicesFile(0), callsFile(0)) }},
		{"a clock that jumped", []string{"services-0000.parquet", "service-0 has a row at", "do not continue"},
			func(t *testing.T, dir string) {
				edit(t, dir, func(m map[string]any) { m["start"] = epoch.Add(7 * time.Second) })
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := random(rand.New(rand.NewPCG(6, 6)), 2, 20)
			h.Manifest.Part = 10
			dir := written(t, h)
			c.damage(t, dir)
			_, err := Read(dir, Options{})
			refused(t, err, c.want...)
		})
	}
}

func remove(t *testing.T, dir, name string) {
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, dir, name string, size int64) {
	if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, dir, name, by string) {
	data, err := os.ReadFile(filepath.Join(dir, by))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, dir string, change func(map[string]any)) {
	path := filepath.Join(dir, ManifestFile)
	data, err := os.ReadFile(path)
	var m map[string]any
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err == nil {
		change(m)
		data, err = json.Marshal(m)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Any wrong byte of a part is reported, or has no effect on the values.
func TestADamagedBytePassesForNothingElse(t *testing.T) {
	h := random(rand.New(rand.NewPCG(8, 8)), 1, 12)
	h.Manifest.Part = 12
	dir := written(t, h)
	path := filepath.Join(dir, servicesFile(0))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for i := 0; i < len(whole); i += 37 {
		bad := append([]byte(nil), whole...)
		bad[i] ^= 0x55
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir, Options{}); err == nil {
			accepted++
		}
	}
	// Indexes and statistics have no checksum, and are not read.
	if accepted > len(whole)/74 {
		t.Errorf("%d of %d damaged files were read", accepted, len(whole)/37)
	}
}

func FuzzRead(f *testing.F) {
	h := random(rand.New(rand.NewPCG(10, 10)), 2, 20)
	h.Manifest.Part = 10
	dir := filepath.Join(f.TempDir(), "past")
	if err := Write(dir, h); err != nil {
		f.Fatal(err)
	}
	manifest := filepath.Join(dir, ManifestFile)
	good, err := os.ReadFile(manifest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"start":"2026-03-01T00:00:15Z","step_ns":15000000000,"steps":60000000,"part_steps":1,"complete":true}`))
	f.Add([]byte(`{"version":1,"steps":-1}`))
	f.Add([]byte(`{"version":99}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err == nil && (m.Step <= 0 || m.Steps <= 0 || m.Part <= 0 || m.Parts() < 1) {
			t.Fatalf("accepted %+v", m)
		}
		if err := os.WriteFile(manifest, data, 0o666); err != nil {
			t.Fatal(err)
		}
		h, err := Read(dir, Options{})
		if err == nil && (h.Steps != m.Steps || !h.Start.Equal(m.Start)) {
			t.Fatalf("read %d steps from %v under %+v", h.Steps, h.Start, m)
		}
	})
}
