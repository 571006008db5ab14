package apps

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

//go:embed *.yaml
var embedded embed.FS

// Names lists the embedded models.
func Names() []string {
	files, err := fs.Glob(embedded, "*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".yaml")
	}
	slices.Sort(files)
	return files
}

// Load reads an embedded model by its name, or a model from a file.
func Load(nameOrFile string) (*Model, error) {
	names := Names()
	if slices.Contains(names, nameOrFile) {
		file := nameOrFile + ".yaml"
		data, err := embedded.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the embedded model %s: %w", nameOrFile, err)
		}
		return Parse(file, data)
	}
	data, err := os.ReadFile(nameOrFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no application %q: it is neither a file nor one of %s%s",
			nameOrFile, strings.Join(names, ", "), didYouMean(nameOrFile, names))
	}
	if err != nil {
		return nil, fmt.Errorf("read the model of an application: %w", err)
	}
	return Parse(nameOrFile, data)
}
