package decisionlog

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/loadline/loadline"
)

// FuzzRead: any segment can be read; what is not a record is reported as damage. Signed text
// gets correct checksums, otherwise no line would pass; the result must be usable, too.
func FuzzRead(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text, false)
	}
	f.Add([]byte(`{"v":1,"decision":{"at":"2026-03-01T12:00:00Z","policy":"hpa","services":[{"name":"web",`+
		`"seen":{"rate":[84,7],"cpu":["NaN",7],"pods":[{"id":1,"phase":"ready","created_s_ago":5}]},`+
		`"told":{"replicas":3},"forecast":{"step_s":60,"median":[1,"NaN"]},"plan":{"replicas":5}}]}}`), true)
	f.Add([]byte(`{"v":1,"app":{"Name":"shop"}}`+"\n"+`{"v":1,"decision":{}}`+"\n"+`{"v":1}`), true)
	app := sampleApp()
	f.Fuzz(func(t *testing.T, text []byte, signed bool) {
		if signed {
			text = sign(text)
		}
		var r Reader
		records := int64(0)
		err := r.readAll(bytes.NewReader(text), "x", nil, func(e Entry) error {
			if e.Record == nil {
				t.Fatal("no record")
			}
			e.Record.Situation(app, []loadline.Observation{e.Record.Observation(app)})
			records++
			return nil
		})
		var future *FutureError
		if err != nil && !errors.As(err, &future) {
			t.Fatal(err)
		}
		lost := int64(0)
		for _, d := range r.Damage {
			lost += d.Bytes
		}
		if lost+records*sumLength > int64(len(text)) {
			t.Fatalf("%d records in %d bytes of which %d are lost", records, len(text), lost)
		}
	})
}

// sign gives every line its checksum.
func sign(text []byte) []byte {
	var signed []byte
	for _, l := range bytes.Split(text, []byte{'\n'}) {
		sum := []byte("00000000 ")
		putSum(sum, l)
		signed = append(append(append(signed, sum...), l...), '\n')
	}
	return signed
}

func seeds(f *testing.F) [][]byte {
	var b bytes.Buffer
	app := sampleApp()
	if err := errors.Join(appendLine(&b, &line{Version: Version, App: app}),
		appendLine(&b, &line{Version: Version, Decision: sampleRecord(app, 0)})); err != nil {
		f.Fatal(err)
	}
	return [][]byte{b.Bytes(), b.Bytes()[:b.Len()-1], []byte("\n\n00000000 {}\n"), []byte(`00000000 {"v":9}`)}
}

// FuzzWriteOn: appending to any segment keeps its records, and adds the new one.
func FuzzWriteOn(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	app := sampleApp()
	f.Fuzz(func(t *testing.T, text []byte) {
		var r Reader
		records := 0
		if r.readAll(bytes.NewReader(text), "x", nil, func(Entry) error { records++; return nil }) != nil {
			return // from the future
		}
		dir := t.TempDir()
		if err := os.WriteFile(segmentPath(dir, 1), text, 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := Open(dir, Options{Sync: -1})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(l.Append(app, sampleRecord(app, 1)), l.Close())
		if err != nil {
			t.Fatal(err)
		}
		again, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		now := 0
		for i := range again.Segments() {
			if err := again.Read(i, func(Entry) error { now++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if now != records+1 {
			t.Fatalf("%d records, want the %d that were there and a new one", now, records)
		}
	})
}
