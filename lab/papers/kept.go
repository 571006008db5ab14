package papers

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/bench"
	"github.com/loadline/loadline/internal/shard"
)

// keeper keeps the figures of one stage, so that an interrupted experiment resumes and processes that
// share the folder share the work. nil = there is no folder, and nothing is kept.
type keeper struct {
	dir, identity string
	claims        *shard.Claims
}

// keep the figures of a stage under everything that determines them.
func (o Options) keep(stage string) (*keeper, error) {
	if o.Models == "" {
		return nil, nil
	}
	claims, err := o.claims()
	if err != nil {
		return nil, err
	}
	code, err := bench.CodeVersion()
	if err != nil {
		return nil, err
	}
	identity, err := json.Marshal([]any{o.Program, code, stage, o.Trace, o.Alibaba, o.Steps, o.Length, o.few})
	if err != nil {
		return nil, fmt.Errorf("name the figures of %s: %w", stage, err)
	}
	return &keeper{filepath.Join(o.Models, "figures"), string(identity), claims}, os.MkdirAll(filepath.Join(o.Models, "figures"), 0o755)
}

// values of one job of the stage, made or read. ErrLater = another process is making them.
func (k *keeper) values(job string, make func() ([]float64, error)) ([]float64, error) {
	if k == nil {
		return make()
	}
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(k.identity+" "+job)))[:24]
	done, err := k.claims.Claim(name)
	if err != nil {
		return nil, err
	}
	defer done()
	path := filepath.Join(k.dir, name+".json")
	if kept, err := readValues(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return kept, err
	}
	values, err := make()
	if err != nil {
		return nil, err
	}
	texts := []string{} // JSON has no NaN
	for _, v := range values {
		texts = append(texts, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return values, atomicfile.Write(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(texts) })
}

func readValues(path string) ([]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var texts []string
	if err := json.Unmarshal(text, &texts); err != nil {
		return nil, fmt.Errorf("read figures %s: %w; delete it to make them again", path, err)
	}
	values := []float64{}
	for _, t := range texts {
		v, err := strconv.ParseFloat(t, 64)
		if err != nil {
			return nil, fmt.Errorf("read figures %s: %w; delete it to make them again", path, err)
		}
		values = append(values, v)
	}
	return values, nil
}
