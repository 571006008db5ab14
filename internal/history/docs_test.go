package history

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table in docs/history.md is what people write CSV files and queries by.
func TestTheDocumentationListsEveryMetric(t *testing.T) {
	data, err := os.ReadFile("../../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []About
	for m := range ServiceMetrics {
		all = append(all, m.About())
	}
	for m := range CallMetrics {
		all = append(all, m.About())
	}
	for _, a := range all {
		if row := fmt.Sprintf("| `%s` | %s | %s |", a.Name, a.Unit, a.Help); !strings.Contains(string(data), row) {
			t.Errorf("docs/history.md has no row %q", row)
		}
	}
}
