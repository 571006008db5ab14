package workload

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func FuzzReadCSV(f *testing.F) {
	for _, s := range []string{"t_s,rps\n0,1\n1,2\n", "t_s,requests\n0,1\n60,2\n180,3\n", "t_s,rps:a,rps:b\n0,1,2\n1,0,0\n",
		"t_s,rps\n5,1\n4,2\n", "t_s,rps\n0,1e308\n1,1e308\n", "t_s,cpu_util_percent\n0,100\n1,0\n", "\"t_s\",\"rps\"\n0,\"1\"\n1,2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, gaps := range []Gaps{GapsRefuse, GapsHold} {
			w, _, err := Read(strings.NewReader(text), "fuzz", Options{Format: "csv", Gaps: gaps, Profile: proportional(1),
				mostBins: 1 << 12})
			if err != nil {
				continue
			}
			if err := w.Validate(); err != nil {
				t.Fatalf("accepted and wrong: %v", err)
			}
		}
	})
}

// FuzzDetect reads arbitrary text in the detected format, and in each.
func FuzzDetect(f *testing.F) {
	for i, fx := range fixtures() {
		f.Add([]byte(fx.text), uint8(i))
		f.Add([]byte(fx.text+fx.bad), uint8(i+1))
	}
	f.Add(packed("t_s,rps\n0,1\n1,2\n")[:20], uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		for _, format := range []string{"", formatNames()[int(which)%len(formats())]} {
			s, err := ReadSeries(bytes.NewReader(text), "fuzz", Options{Format: format, Gaps: GapsZero, SkipBad: which > 127,
				mostBins: 1 << 12})
			if err != nil {
				continue
			}
			if len(s.Values) == 0 || len(s.Values) > maxBins || s.Step <= 0 {
				t.Fatalf("accepted and wrong: %d values of %v", len(s.Values), s.Step)
			}
			for _, v := range s.Values {
				if !(v >= 0) {
					t.Fatalf("accepted and wrong: %v", v)
				}
			}
		}
	})
}

func FuzzSpec(f *testing.F) {
	for _, s := range []string{exampleSpec, "day", "constant:rps=1e+3+noise", "bursty:calm=1ns,burst=1ns",
		"constant+mix:a=1..2,b=3,drift=1",
		"ramp:from=1,to=0,start=5s,end=1s", "weekly:peak=7d", "flash:at=3650d,rise=3650d+constant"} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, spec string, seed uint64) {
		a, err := Parse(spec, time.Minute, time.Second, seed)
		if err != nil {
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatalf("accepted and wrong: %v", err)
		}
		b, _ := Parse(spec, time.Minute, time.Second, seed)
		for i := range a.Rates {
			if a.Rates[i] != b.Rates[i] {
				t.Fatal("the same seed gave another workload")
			}
		}
	})
}

func FuzzCallGraph(f *testing.F) {
	f.Add(callGraph2021)
	f.Add(callGraph2022)
	f.Fuzz(func(t *testing.T, text string) {
		app, _, err := AppFromCallGraph(strings.NewReader(text), "fuzz", CallGraphOptions{SkipBadRows: true})
		if err != nil {
			return
		}
		checkApp(t, app)
	})
}
