package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/guard"
	"github.com/loadline/loadline/internal/pipeline"
)

// TestManifestsOfAVerdict: what is promoted is written as it was judged.
func TestManifestsOfAVerdict(t *testing.T) {
	model, err := loadApp("bookinfo")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = writeManifests(&b, model.App, pipeline.Verdict{Kind: pipeline.Promote, Sentence: "Promote it.",
		Policy:   "model:file=run/candidates/x.safetensors",
		Fallback: "hpa:target=62", Axes: []string{guard.Horizontal, guard.VerticalRequests}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Promote it.\n", "kind: LoadLine", "fallback: hpa:target=62", "- VerticalRequests", "mode: Recommend",
		"name: bookinfo-twin", "kubectl create configmap bookinfo-twin"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := writeManifests(&b, model.App, pipeline.Verdict{Kind: pipeline.Change, Sentence: "Change it.", Policy: "hpa:target=62"}); err != nil ||
		!strings.Contains(b.String(), "kind: HorizontalPodAutoscaler") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := writeManifests(&b, model.App, pipeline.Verdict{Kind: pipeline.Refused, Sentence: "Refused: no."}); err != nil ||
		b.String() != "# Refused: no.\n" {
		t.Errorf("a refusal: %v, %q", err, b.String())
	}
}

// TestVerdictsHaveExitCodes: each of its own, and none that means something else.
func TestVerdictsHaveExitCodes(t *testing.T) {
	seen := map[int]bool{0: true, exitFailure: true, exitUsage: true, exitInterrupted: true}
	for _, kind := range []pipeline.Kind{pipeline.Keep, pipeline.Change, pipeline.Undecided, pipeline.Refused} {
		if code := exitCodes[kind]; seen[code] {
			t.Errorf("%s: exit code %d", kind, code)
		} else {
			seen[code] = true
		}
	}
	if err := verdictCode(pipeline.Verdict{Kind: pipeline.Promote}); err != nil {
		t.Error(err)
	}
}
