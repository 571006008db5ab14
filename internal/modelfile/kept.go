package modelfile

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Save writes a model to a path atomically.
func Save(path string, make func() (*File, error)) error {
	file, err := make()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Write(path)
}

// Load reads a model from a path with the function that extracts it from its file.
func Load[M any](path string, from func(*File) (M, error)) (M, error) {
	var none M
	file, err := Open(path)
	if err != nil {
		return none, err
	}
	m, err := from(file)
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// TakeSettings reads the settings of the kind. Unknown fields are ignored.
func (c *Card) TakeSettings(into any) error {
	return untaken(json.Unmarshal(c.Settings, into))
}

// TakeKnownSettings is TakeSettings that rejects unknown fields.
func (c *Card) TakeKnownSettings(into any) error {
	d := json.NewDecoder(bytes.NewReader(c.Settings))
	d.DisallowUnknownFields()
	return untaken(d.Decode(into))
}

func untaken(err error) error {
	if err != nil {
		return fmt.Errorf("its settings cannot be read: %w; train it again", err)
	}
	return nil
}

// FeatureNames are those of the inputs, in their order.
func (c *Card) FeatureNames() []string {
	names := make([]string, len(c.Features))
	for i, f := range c.Features {
		names[i] = f.Name
	}
	return names
}
