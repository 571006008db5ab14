package history

import "fmt"

// Read cannot read a folder in a browser, where this package is built without its file format: Parquet
// with its codecs is more than half of the program.
func Read(dir string, _ Options) (*History, error) {
	return nil, fmt.Errorf("the history in %s cannot be read in a browser: use the program loadline", dir)
}
