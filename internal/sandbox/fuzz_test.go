package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzMessages: every message has an answer in JSON, with a state or an error, and the clusters go on.
// Opening is left out, since it simulates a quarter of an hour.
func FuzzMessages(f *testing.F) {
	d := NewDesk(Settings{App: "single", Load: "constant:rps=1"})
	if text := string(d.Answer(context.Background(), []byte(`{"open":{}}`))); strings.Contains(text, `"error"`) {
		f.Fatal(text)
	}
	for _, message := range []string{
		`{"step":{"seconds":0.5,"commands":[{"do":"load","factor":2},{"do":"pattern","pattern":"bursts"}]}}`,
		`{"step":{"seconds":1,"commands":[{"do":"prometheus"},{"do":"neighbour","on":true}]}}`,
		`{"step":{"seconds":1,"commands":[{"do":"version","on":true},{"do":"node"},{"do":"calm"}]}}`,
		`{"step":{"seconds":1e400}}`, `{"step":null}`, `[]`, `{"step":{"seconds":-0}}`, "{\"step\":{\"seconds\":1}}\x00",
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		var request Request
		if json.Unmarshal([]byte(message), &request) == nil && (request.Open != nil || request.Step != nil && request.Step.Seconds > 5) {
			t.Skip()
		}
		var reply Reply
		text := d.Answer(context.Background(), []byte(message))
		if err := json.Unmarshal(text, &reply); err != nil || (reply.Error == "") == (reply.State == nil) {
			t.Errorf("%q: %v, %s", message, err, text)
		}
	})
}
