package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func pageOf(t *testing.T, contenders ...contender) string {
	t.Helper()
	r, err := Read(tinyBench(t, contenders...))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageIsWhole(t *testing.T) {
	page := pageOf(t, two...)
	if page != pageOf(t, two...) {
		t.Error("one bench, two pages")
	}
	if strings.Count(page, "</script>") != 1+1+6+1 { // summary, scenario, runs, program
		t.Errorf("%d scripts", strings.Count(page, "</script>"))
	}
	// The only URLs are identifiers, never fetched.
	for _, address := range regexp.MustCompile(`https?://[^\s"'<>)]*`).FindAllString(page, -1) {
		if !strings.HasPrefix(address, "http://www.w3.org/") {
			t.Errorf("the page contains the address %s", address)
		}
	}
	if regexp.MustCompile(`<(link|img|iframe)[^>]*(href|src)="[^d]`).MatchString(page) || strings.Contains(styles, "@import") ||
		strings.Contains(styles, "url(") {
		t.Error("the page loads something")
	}
	if !strings.Contains(page, hashOf(script)) || !strings.Contains(page, hashOf(styles)) {
		t.Error("the policy does not allow the page's own script and style")
	}
	if strings.Contains(script, "</script") || strings.Contains(script, "<!--") || strings.Contains(styles, "</style") {
		t.Error("the built page cannot be put into a page: rebuild web/")
	}
}

func TestHostileNamesStayText(t *testing.T) {
	hostile := two[1]
	hostile.label = hostileLabel + "<!-- \u2028 &amp;"
	page := pageOf(t, two[0], hostile)
	if strings.Contains(page, "<img") || strings.Contains(strings.TrimPrefix(page, "<!doctype"), "<!--") {
		t.Error("a name became markup")
	}
	start := strings.Index(page, `id="summary">`) + len(`id="summary">`)
	end := start + strings.Index(page[start:], "</script>")
	var summary Summary
	if err := json.Unmarshal([]byte(page[start:end]), &summary); err != nil {
		t.Fatal(err)
	}
	if got := summary.Policies[1].Label; got != hostile.label {
		t.Errorf("%q became %q", hostile.label, got)
	}
}

func TestChunksCanBeOpened(t *testing.T) {
	page := pageOf(t, two...)
	for id, want := range map[string]string{"run-0": `"load":[10,20.1,30]`, "scenario-0": `"slower":[0.1,0.01,0]`} {
		found := regexp.MustCompile(`<script type="text/plain" id="` + id + `">([^<]*)</script>`).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("no %s", id)
		}
		packed, err := base64.StdEncoding.DecodeString(found[1])
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || !json.Valid(text) || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %s", id, err, text)
		}
	}
}

// TestAPageBeginsWithItsAnswer: the page has the sentence that it was given, and its script shows it
// instead of verdicts on single scenarios.
func TestAPageBeginsWithItsAnswer(t *testing.T) {
	r, err := Read(tinyBench(t, two...))
	if err != nil {
		t.Fatal(err)
	}
	r.Lead(Lead{Kind: "keep", Sentence: "Keep HPA at 80 %.", Facts: []Fact{{"Today", "12 USD a month"}}, Assumptions: []string{"Prices."}})
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"lead":{"kind":"keep","sentence":"Keep HPA at 80 %."`, `"12 USD a month"`, `"Prices."`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in the page", want)
		}
	}
	if !strings.Contains(script, ".lead") || strings.Contains(script, "no policy can cost less") {
		t.Error("the page's script is not of these sources: rebuild web/")
	}
}

// TestTheAnswerHasWholeRuns: one run of each policy that the page shows, in a chunk of its own.
func TestTheAnswerHasWholeRuns(t *testing.T) {
	r, err := Read(tinyBench(t, two...))
	if err != nil {
		t.Fatal(err)
	}
	r.Lead(Lead{Kind: "keep"})
	before := len(r.runs)
	other := contender{label: "elsewhere", policy: "vpa", cost: []float64{1, 1}}
	if err := r.AddWhole(tinyBench(t, append(slices.Clone(two), other)...), "title", "about"); err != nil {
		t.Fatal(err)
	}
	want := &Whole{Title: "title", About: "about", Kinds: r.Summary.Scenarios[0].Kinds}
	for i, c := range two {
		want.Runs = append(want.Runs, WholeRun{c.label, before + i})
	}
	if got := r.Summary.Lead.Whole; !reflect.DeepEqual(got, want) || len(r.runs) != before+len(two) {
		t.Errorf("%+v, want %+v; %d chunks were %d", got, want, len(r.runs), before)
	}
	if err := r.AddWhole(t.TempDir(), "", ""); err == nil {
		t.Error("a directory without runs is accepted")
	}
}
