package history

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loadline/loadline"
)

// The table in docs/history.md is the reference for CSV files and queries.
func TestTheDocumentationListsEveryMetric(t *testing.T) {
	data, err := os.ReadFile("../../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range loadline.Measured() {
		if row := fmt.Sprintf("| `%s` | %s | %s |", m.Name, m.Unit, m.Help); m.Column > 0 && !strings.Contains(string(data), row) {
			t.Errorf("docs/history.md has no row %q", row)
		}
	}
}
