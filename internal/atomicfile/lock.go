package atomicfile

import "fmt"

// lockName is the file by which a folder is held.
const lockName = "lock"

// BusyError is of a folder that another process holds.
type BusyError struct {
	Dir     string
	Process string // its id, as far as it is known
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.Process != "" {
		who = "process " + e.Process
	}
	return fmt.Sprintf("folder %s is in use by %s: give another, or stop that one", e.Dir, who)
}
