package validate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dataFolder is the folder of third-party measurements, beside the repository. They may not be
// committed; without them these tests are skipped.
func dataFolder(t *testing.T, file string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data", "validation")
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
		t.Skipf("no %s in %s: it is not part of this repository", file, dir)
	}
	return dir
}

func TestAbsentDataIsReported(t *testing.T) {
	if _, err := OpenFaaS(t.Context(), OpenFaaSOptions{Data: t.TempDir()}); !errors.Is(err, ErrNoData) {
		t.Errorf("OpenFaaS in an empty folder: %v, want ErrNoData", err)
	}
	if _, err := Hotel(t.Context(), HotelOptions{Data: t.TempDir()}); !errors.Is(err, ErrNoData) {
		t.Errorf("Hotel in an empty folder: %v, want ErrNoData", err)
	}
}

func TestFaultsInTablesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a column is absent":           {"kind,replicas\nsingle,1\n", `no column "quota_cores"`},
		"a number is none":             {strings.Replace(cfsQuota, "295", "many", 1), `line 2: completed`},
		"a row is too short":           {"kind,replicas\nsingle\n", "wrong number of fields"},
		"there is nothing in the file": {"", "EOF"},
	} {
		if _, err := readCFS(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}
