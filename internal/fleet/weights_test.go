package fleet

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/policy/drpc"
)

// packed is valid weights of cart as stored in the bucket.
func packed(t testing.TB, version uint64, schema string) []byte {
	s, err := drpc.NewStudent("cart", drpc.StudentConfig(), 7)
	if err != nil {
		t.Fatal(err)
	}
	b, err := appendWeights(nil, drpc.WeightsOf(s, version), schema)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// faulty are objects that no student may use, as a torn upload or a teacher of another release
// would leave them.
func faulty(t testing.TB) map[string]struct {
	data []byte
	want error
	says string
} {
	sound := packed(t, 9, Schema())
	change := func(at int) []byte {
		b := bytes.Clone(sound)
		b[at] ^= 1
		return b
	}
	return map[string]struct {
		data []byte
		want error
		says string
	}{
		"torn in its weights":    {sound[:len(sound)-100], drpc.ErrTorn, "must have 2572"},
		"torn in its head":       {sound[:20], drpc.ErrTorn, "no weights"},
		"torn in its schema":     {sound[:60], drpc.ErrTorn, "truncated"},
		"longer than it was":     {append(bytes.Clone(sound), 0), drpc.ErrTorn, "must have 2572"},
		"with a bit turned":      {change(len(sound) - 1), drpc.ErrTorn, "checksum"},
		"with a version changed": {change(len(mark)), drpc.ErrTorn, "checksum"},
		"of another layout":      {change(3), drpc.ErrUnfit, "run teacher and agents of the same release"},
		"of another schema":      {packed(t, 9, "load,queue>dense20>cpu,horizontal"), drpc.ErrUnfit, `this one is "load,load_ahead`},
		"nothing at all":         {nil, drpc.ErrTorn, "0 bytes"},
	}
}

func TestWeightsThatDoNotFitAreRefused(t *testing.T) {
	for name, c := range faulty(t) {
		t.Run(name, func(t *testing.T) {
			student := newStudent(t, "cart", 1)
			before := drpc.WeightsOf(student, 1).Data
			w, err := readWeights(c.data, Schema())
			if err == nil {
				err = student.Adopt(w)
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v that says %q", err, c.want, c.says)
			}
			if !bytes.Equal(before, drpc.WeightsOf(student, 1).Data) {
				t.Error("the student has changed")
			}
		})
	}
	sound := packed(t, 9, Schema())
	for cut := range sound {
		if _, err := readWeights(sound[:cut], Schema()); err == nil {
			t.Fatalf("%d of %d bytes were taken for weights", cut, len(sound))
		}
	}
}

func FuzzReadWeights(f *testing.F) {
	f.Add(packed(f, 9, Schema()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := readWeights(data, Schema())
		if err != nil {
			return
		}
		if again, err := appendWeights(nil, w, Schema()); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%x became %x (%v)", data, again, err)
		}
	})
}

// TestAgentsActOnWithWhatTheyHave: valid weights are used while an agent runs, torn ones and
// those of another release are not, and a valid version after them is.
func TestAgentsActOnWithWhatTheyHave(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "")
	l := link(t, func(c *Config) { c.Server = s })
	wait(t, l)
	app, model := bookinfo(t, 1)
	group, err := Group(model, []string{"reviews", "details"})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(l, group, app, drpc.Work{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	start(t, agent)
	other := link(t, func(c *Config) { c.Server = s })
	teacher, err := NewCollector(other, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, better := bookinfo(t, 100)
	offer := func(m *drpc.Model, want bool) {
		t.Helper()
		if published, err := teacher.Publish(m); published != want || err != nil {
			t.Fatalf("published %v, %v; want %v", published, err, want)
		}
	}
	offer(better, true)
	offer(better, false) // it is stored
	version := teacher.Ledger().Version
	if version != 2 {
		t.Errorf("version %d, want 2: above the model's own", version)
	}
	shown := func(revision uint64) {
		t.Helper()
		eventually(t, "the object is seen", func() bool { return agent.Weights.Latest("reviews").Revision == revision })
	}
	eventually(t, "both are seen", func() bool {
		return agent.Weights.Latest("reviews").Weights.Version == 2 && agent.Weights.Latest("details").Weights.Version == 2
	})
	act(t, app, agent)
	decided := uint64(0)
	for _, st := range agent.Status() {
		if st.Version != 2 || st.Refused != "" || st.Decisions == 0 {
			t.Errorf("%+v, want version 2 at work", st)
		}
		decided += st.Decisions
	}

	_, bucket, err := l.ready(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range faulty(t) {
		revision, err := bucket.Put(t.Context(), token("reviews"), c.data)
		if err != nil {
			t.Fatal(err)
		}
		shown(revision)
		agent.adopt()
		st := agent.Status()[slices.Index(agent.services, "reviews")]
		if st.Version != 2 || !strings.Contains(st.Refused, c.says) && !strings.Contains(st.Refused, "are of cart") {
			t.Errorf("%s: %+v", name, st)
		}
	}
	// An agent that starts with such an object in the bucket uses its own model.
	late, err := NewAgent(l, group, app, drpc.Work{}, 2)
	if err != nil {
		t.Fatal(err)
	}
	start(t, late)
	eventually(t, "the faulty object is seen", func() bool {
		return late.Weights.Latest("reviews").Revision > 0 && late.Weights.Latest("details").Revision > 0
	})
	act(t, app, late)
	for _, st := range late.Status() {
		decided += st.Decisions
		if faulty := st.Service == "reviews"; st.Decisions == 0 || faulty != (st.Refused != "") || faulty != (st.Version == 1) {
			t.Errorf("%+v", st)
		}
	}
	flush(t, agent.Publisher)
	flush(t, late.Publisher)
	if n, err := teacher.pass(); err != nil || uint64(n) != decided {
		t.Errorf("%d counted, want %d (%v)", n, decided, err)
	}
	offer(better, true) // the same students, since the stored object is damaged
	offer(model, true)
	eventually(t, "the next good version is seen",
		func() bool { return agent.Weights.Latest("reviews").Weights.Version == teacher.Ledger().Version })
	agent.adopt()
	for _, st := range agent.Status() {
		if st.Version <= 2 || st.Refused != "" {
			t.Errorf("%+v, want the next version", st)
		}
	}
}

func TestGroupsAreOfServicesThatHaveStudents(t *testing.T) {
	_, m := bookinfo(t, 1)
	if part, err := Group(m, []string{"details"}); err != nil || len(part.Students) != 1 ||
		part.Students[0] != m.Students[slices.Index(m.Services, "details")] {
		t.Errorf("%+v, %v", part, err)
	}
	if all, err := Group(m, nil); err != nil || all != m {
		t.Errorf("%v, %v; want all of it", all, err)
	}
	_, err := Group(m, []string{"detials", "reviews", "reviews"})
	for _, want := range []string{`did you mean "details"`, `"reviews" is named twice`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
